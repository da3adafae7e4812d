"""Goals g and skills π(a given s, g): where goals come from, networks, policies, and acting with them."""
