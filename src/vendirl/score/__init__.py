"""The Vendi Score (Definition 1) of any matrix of similarities; it knows nothing of skills."""

from vendirl.score.border import Border
from vendirl.score.score import Vendi, vendi, vendi_score, vendi_score_features

__all__ = ["Border", "Vendi", "vendi", "vendi_score", "vendi_score_features"]
