"""Names for what a body observes: x, height, pitch, the joints, and their velocities, by its MuJoCo model; and for the
observations of some well-known environments that have none."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

AXES = ("x", "y", "height")
_TURNS = ("roll", "pitch", "yaw")
_LANDER = "x height x_velocity y_velocity angle angle_velocity left_contact right_contact"
_LEG = "hip hip_velocity knee knee_velocity contact"
_KNOWN = {
    "CartPole": "x x_velocity pole pole_velocity",
    "Pendulum": "cos_angle sin_angle angle_velocity",
    "MountainCar": "x x_velocity",
    "MountainCarContinuous": "x x_velocity",
    "Acrobot": "cos_joint_1 sin_joint_1 cos_joint_2 sin_joint_2 joint_1_velocity joint_2_velocity",
    "LunarLander": _LANDER,
    "LunarLanderContinuous": _LANDER,
    "BipedalWalker": " ".join(
        ["angle angle_velocity x_velocity y_velocity"]
        + [f"leg_{leg}_{part}" for leg in (1, 2) for part in _LEG.split()]
        + [f"lidar_{i}" for i in range(10)]
    ),
}


def known_names(id_: str, size: int) -> list[str] | None:
    """The names of an observation of Gymnasium's classic environments, of whatever version; None for others."""
    names = _KNOWN.get(id_.rpartition("-v")[0], "").split()
    return names if len(names) == size else None


def coordinates(model: Any) -> tuple[list[str], list[str], dict[str, float]]:
    """The names of a MuJoCo model's positions qpos, of its velocities qvel, and of those positions that say where its
    root is, each with what is to be added for its place in the world.

    A body that slides or floats is placed by x, y and height, and turned by roll, pitch and yaw, whichever its joints
    allow; all but the first carry the name of the body. Other joints keep their own names.
    """
    import mujoco

    kinds = mujoco.mjtJoint
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mobile = set(model.jnt_bodyid[np.isin(model.jnt_type, (kinds.mjJNT_FREE, kinds.mjJNT_SLIDE))])
    grounded = {body for body in mobile if model.body_parentid[body] == 0}
    positions: list[str] = []
    velocities: list[str] = []
    root: dict[str, float] = {}
    for joint in range(model.njnt):
        body, kind, axis = model.jnt_bodyid[joint], model.jnt_type[joint], data.xaxis[joint]
        first = body == model.jnt_bodyid[0]
        prefix = "" if first else f"{model.body(body).name or f'body_{body}'}_"
        name = model.joint(joint).name or f"joint_{joint}"
        if kind == kinds.mjJNT_FREE:
            places = [prefix + axis for axis in AXES]
            root |= dict.fromkeys(places, 0.0) if first else {}
            positions += [*places, *(f"{prefix}quaternion_{part}" for part in "wxyz")]
            velocities += [f"{prefix}{part}_velocity" for part in (*AXES, *_TURNS)]
        elif kind == kinds.mjJNT_BALL:
            positions += [f"{name}_{part}" for part in "wxyz"]
            velocities += [f"{name}_{part}_velocity" for part in "xyz"]
        else:
            main = int(np.abs(axis).argmax())
            if body in grounded and kind == kinds.mjJNT_SLIDE and axis[main] > 0.99:
                name = prefix + AXES[main]
                here = data.xpos[body, main] - data.qpos[model.jnt_qposadr[joint]]
                root |= {name: here} if first else {}
            elif body in grounded and kind == kinds.mjJNT_HINGE and abs(axis[main]) > 0.99:
                name = prefix + _TURNS[main]
            positions.append(name)
            velocities.append(f"{name}_velocity")
    return [identifier(p) for p in positions], [identifier(v) for v in velocities], root


def observation_names(model: Any, size: int, structure: dict[str, int] | None = None) -> list[str] | None:
    """The names of an observation of `size` numbers that begins with positions, less the first few, and velocities.

    Args:
        structure: sizes of its parts in order, as Gymnasium's environments have it ("skipped_qpos" first).

    Returns:
        None if the observation is something else.
    """
    positions, velocities, _ = coordinates(model)
    rest = size - len(positions) - len(velocities)
    skipped = structure.get("skipped_qpos", 0) if structure else max(0, -rest)
    if structure and (structure.get("qpos"), structure.get("qvel")) != (len(positions) - skipped, len(velocities)):
        return None
    if skipped > 2:
        return None
    names = positions[skipped:] + velocities
    for part, count in (structure or {}).items():
        if part not in ("skipped_qpos", "qpos", "qvel"):
            names += [f"{part}_{i}" for i in range(count)]
    if structure and len(names) != size:  # another version of the environment, whose other parts are not known
        names = names[: structure["qpos"] + structure["qvel"]]
        names += [f"observation_{i}" for i in range(len(names), size)]
    return names if len(names) == size else None


def identifier(name: str) -> str:
    """The name as it may be written in a similarity: letters, digits and underscores."""
    plain = "".join(c if c.isalnum() else "_" for c in name).strip("_") or "feature"
    return f"_{plain}" if plain[0].isdigit() else plain


def numbered(prefix: str, count: int) -> list[str]:
    """prefix_0, prefix_1, ...; the prefix alone if there is but one."""
    return [prefix] if count == 1 else [f"{prefix}_{i}" for i in range(count)]


def outside(infos: dict[str, Any], scenes: int, taken: Sequence[str]) -> dict[str, str]:
    """Features that an environment tells beside its observations: from the name of the feature to the key of the info.

    One real number for each scene, and not a part of the reward; positions are called x and y.
    """
    found: dict[str, str] = {}
    for key, value in infos.items():
        if key.startswith(("_", "reward")) or not isinstance(value, np.ndarray):
            continue
        if value.shape != (scenes,) or value.dtype.kind != "f":
            continue
        name = identifier(key.removesuffix("_position") if key in ("x_position", "y_position") else key)
        if name not in taken and name not in found:
            found[name] = key
    return found


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Without MuJoCo's warnings about a model, which it also writes to a file in the working folder; nor others'."""
    try:
        import mujoco
    except ImportError:
        yield
        return
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)
