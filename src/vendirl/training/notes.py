"""What is to be known of a run before it trains."""

from __future__ import annotations

from vendirl.training.budget import told
from vendirl.training.loop import Loop
from vendirl.training.recipes import said_of_defaults, said_of_form
from vendirl.training.settings import Settings


def note_of(settings: Settings, asked: int, loop: Loop) -> str | None:
    """What a small budget means for a run of which so many scenes were `asked` for, which release its method follows
    and how far, which settings it has because they suit its environment, and what the method has to say of its problem;
    None if there is nothing.
    """
    budget = told(settings.steps, asked, settings.scenes, loop.problem.epochs, loop.steps_of_an_epoch)
    form = said_of_form(loop.method, settings, loop.algorithm)
    suits = said_of_defaults(loop.method, settings, loop.algorithm)
    return "\n".join(said for said in (form, suits, budget, loop.method.caveat) if said) or None
