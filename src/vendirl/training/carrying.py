"""Skills that begin where others ended: which of their weights a new run carries over, and whether they fit.

    actor   the network that acts, the deviation of its actions, and the statistics of what was observed
    trunk   the same without the last layer, which is new
    all     the actor and the critic

What the reward was is no longer known: the learner's own state, the method's, and the critic (unless all is carried
over) begin anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import equinox as eqx

from vendirl._checks import one_of
from vendirl.environments import AnyEnvironment
from vendirl.skills.networks import Network
from vendirl.skills.policy import Skill, SkillPolicy
from vendirl.training import checkpoint
from vendirl.training import folder as folders
from vendirl.training.loop import Loop
from vendirl.training.problem import OBJECT, Begun
from vendirl.training.run import Run
from vendirl.training.settings import Settings

Carry = Literal["actor", "trunk", "all"]
"""What is carried over."""
Acting = TypeVar("Acting", SkillPolicy, Skill)
PLACE = "init"
"""The folder, in that of a run, of the skills that it began with."""


def carried(fresh: Acting, old: Acting, carry: str | Any) -> Acting:
    """Fresh skills with the weights of old ones in place of those that are carried over."""
    one_of(carry, get_args(Carry), "carry")
    actor = old.actor
    if carry == "trunk":
        actor = eqx.tree_at(lambda network: network.layers[-1], actor, fresh.actor.layers[-1])
    found = eqx.tree_at(lambda skills: skills.actor, fresh, actor)
    if fresh.log_std is not None and old.log_std is not None:
        found = eqx.tree_at(lambda skills: skills.log_std, found, old.log_std)
    if carry == "all":
        found = eqx.tree_at(lambda skills: skills.critic, found, old.critic)
    return eqx.tree_at(lambda skills: skills.statistics, found, old.statistics)


def name_of(init: object) -> str:
    """How settings name the run that another one begins with."""
    if isinstance(init, Run):
        return f"{OBJECT}{init.settings.method}" if init.folder is None else str(init.folder)
    if isinstance(init, str | Path):
        return str(init)
    raise TypeError(f"init must be a Run or the folder of one, but is {type(init).__name__}")


def named(name: str, load: Callable[..., Run], trust: bool, env: str) -> Run:
    """The run that another is to begin with. If it names the very environment that was asked for, there is nothing to
    trust it with."""
    if name.startswith(OBJECT):
        raise ValueError("the run that this one is to begin with was an object; pass it again: vr.train(init=run)")
    try:
        same = folders.read_settings(Path(name)).env == env
        return load(name, trust=trust or same)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(f"init={name!r}: {error}") from None


def beginning_with(initial: Run, carry: str, name: str) -> Begun:
    """What turns new skills into those that begin with a run's, or with its best seed's."""
    old = initial.skills
    what = f"init={name!r}"

    def begun(fresh: SkillPolicy, loop: Loop) -> SkillPolicy:
        check_same_body(loop.problem.environment, initial.environment, what)
        check_fits(fresh, old, what)
        return carried(fresh, old, carry)

    return begun


def check_same_body(here: AnyEnvironment, there: AnyEnvironment, what: str) -> None:
    """Refuse skills that were trained on another body: one that shows other features, or takes other actions."""
    seen, theirs = (tuple(env.feature_names[: env.visible]) for env in (here, there))
    if seen != theirs:
        other = next((name for name in (*theirs, *seen) if (name in seen) != (name in theirs)), None)
        where = "in another order" if other is None else f"{other!r} only {'there' if other in theirs else 'here'}"
        raise ValueError(
            f"{what} comes from another body: here a skill sees {len(seen)} features and there {len(theirs)}, {where}"
        )
    if here.actions != there.actions:
        raise ValueError(f"{what} comes from another body: actions here are {here.actions}, and there {there.actions}")


def check_fits(fresh: SkillPolicy, old: SkillPolicy, what: str) -> None:
    """Refuse skills whose networks are not like those that a run is to have, and say what to set."""
    for name, wanted in (
        ("skills", "skills"),
        ("numbered", "method"),
        ("separate", "separate"),
        ("time", "time"),
        ("squashed", "learner"),
        ("deviation", "learner"),
    ):
        mine, theirs = getattr(fresh, name), getattr(old, name)
        if mine != theirs:
            raise ValueError(
                f"{what} was trained with {name}={theirs}, and this run has {name}={mine}; it can begin with skills "
                f"of the same {wanted} only"
            )
    for part in ("actor", "critic"):
        mine, theirs = _shape(getattr(fresh, part)), _shape(getattr(old, part))
        if mine != theirs:
            raise ValueError(
                f"{what} has {part}s of {theirs}, and this run has those of {mine}; give it the hidden widths and the "
                "activation of that run"
            )


def has_begun(folder: Path, settings: Settings) -> bool:
    """Whether there is a run in a folder, with the skills that it began with if those are of another run: one that was
    killed before they were written begins with them again."""
    kept = not settings.init or any(checkpoint.epochs(folder / place) for place in (PLACE, "checkpoints"))
    return kept and (folder / "settings.json").exists()


def keep(folder: Path, policy: SkillPolicy, fingerprint: str) -> None:
    """Write down the skills that a run begins with, so that it needs nobody else's folder to go on."""
    checkpoint.save(folder / PLACE, 0, eqx.filter(policy, eqx.is_array), fingerprint)


def kept(folder: Path, like: SkillPolicy, settings: Any) -> SkillPolicy:
    """The skills that the run in a folder began with."""
    arrays, static = eqx.partition(like, eqx.is_array)
    found = checkpoint.newest(folder / PLACE, arrays, folders.fingerprints(folder, settings))
    if found is None:
        raise ValueError(
            f"{folder} began with the skills of {settings.init}, which should be in {folder / PLACE}, but are not; "
            "begin it again in another folder"
        )
    return eqx.combine(found, static)


def _shape(network: Network) -> str:
    weights = [layer.weight for layer in network.layers]
    sizes = (weights[0].shape[-1], *(weight.shape[-2] for weight in weights))
    return f"{'-'.join(map(str, sizes))} {network.activation}"
