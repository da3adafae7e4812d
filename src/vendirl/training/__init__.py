"""Training: Algorithm 1 and what a run needs around it."""
