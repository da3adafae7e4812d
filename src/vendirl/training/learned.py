"""Whether a run learned anything, in one sentence."""

from __future__ import annotations


def learned(score: float, untrained: float, seeds: int = 1, begun: bool = False) -> str:
    """Whether anything was learned, in one sentence: the score beside that of the skills before training, both of
    skills that act without noise, and medians if there are several seeds. `begun` says that the run
    began with skills of another, which are no untrained ones."""
    gain = round(score - untrained, 2)
    verdict = f"learned {gain:.2f} effective skills more" if gain > 0 else "learned nothing that counts here"
    if gain < 0:
        verdict = f"lost {-gain:.2f} effective skills in training"
    middle = "" if seeds == 1 else f", in the median of {seeds} seeds"
    before = "The skills that it began with" if begun else "Untrained skills"
    return f"{before} score {untrained:.3f} (both without noise{middle}), so it {verdict}."
