"""System Neural Diversity of policies that it is not defined for; `tests/evaluation` has the others."""

import jax
import numpy as np
import pytest

from vendirl.environments import Box
from vendirl.skills.neural_diversity import neural_diversity
from vendirl.skills.policy import SkillPolicy


def test_squashed_actions_are_refused():
    policy = SkillPolicy(2, Box(2), 3, key=jax.random.key(0), hidden=(8,), squashed=True)
    with pytest.raises(ValueError, match="squashes its actions"):
        neural_diversity(policy, np.zeros((4, 2)))
