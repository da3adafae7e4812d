"""Names for what a MuJoCo body observes: x, height, pitch, the joints, and their velocities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Planar bodies are moved by slides and a hinge at their root; the field calls these by what they do.
_ROOTS = {
    "rootx": "x",
    "rooty": "pitch",
    "rootz": "height",
    "slider": "x",
    "hinge": "angle",
    "slider1": "x",
    "slider2": "y",
}
_FREE_POSITIONS = ("x", "y", "height", "quaternion_w", "quaternion_x", "quaternion_y", "quaternion_z")
_FREE_VELOCITIES = ("x", "y", "height", "roll", "pitch", "yaw")
_QUATERNION = ("w", "x", "y", "z")
_AXES = ("x", "y", "z")


def coordinates(model: Any) -> tuple[list[str], list[str]]:
    """The names of a MuJoCo model's positions qpos, and of its velocities qvel."""
    import mujoco

    positions: list[str] = []
    velocities: list[str] = []
    free = 0
    for joint in range(model.njnt):
        name = model.joint(joint).name or f"joint_{joint}"
        kind = model.jnt_type[joint]
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            prefix = "" if free == 0 else f"{name}_"  # the first free body is the body itself
            free += 1
            positions += [prefix + part for part in _FREE_POSITIONS]
            velocities += [f"{prefix}{part}_velocity" for part in _FREE_VELOCITIES]
        elif kind == mujoco.mjtJoint.mjJNT_BALL:
            positions += [f"{name}_{part}" for part in _QUATERNION]
            velocities += [f"{name}_{axis}_velocity" for axis in _AXES]
        else:
            name = _ROOTS.get(name, name)
            positions.append(name)
            velocities.append(f"{name}_velocity")
    return [identifier(name) for name in positions], [identifier(name) for name in velocities]


def observation_names(model: Any, size: int, structure: dict[str, int] | None = None) -> list[str] | None:
    """The names of an observation of `size` numbers that begins with positions, less the first few, and velocities.

    Args:
        structure: sizes of its parts in order, as Gymnasium's environments have it ("skipped_qpos" first).

    Returns:
        None if the observation is something else.
    """
    positions, velocities = coordinates(model)
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
    if not structure and len(names) < size and skipped == 0:
        return None
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
    import numpy as np

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
