"""Pictures of MuJoCo models, drawn without a screen in a process of their own, which runs this file.

MuJoCo decides how it draws when it is first imported, and by then it is too late to ask for another way.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from vendirl._host import python


def without_a_screen() -> dict[str, str]:
    """The variables of a process that draws: on Linux by EGL, unless something else is asked for."""
    return {**({"MUJOCO_GL": "egl"} if sys.platform == "linux" else {}), **os.environ}


def draw(model: Any, qpos: Float[np.ndarray, "T q"], width: int, height: int) -> UInt8[np.ndarray, "T H W 3"]:
    """Pictures of a model at T positions, from a camera that follows its first body."""
    task = pickle.dumps((model, np.asarray(qpos), width, height))
    command = [*python(), "-m", "vendirl.environments.suites.drawing"]
    done = subprocess.run(command, input=task, capture_output=True, env=without_a_screen())
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"MuJoCo's renderer failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return np.frombuffer(done.stdout, np.uint8).reshape(len(qpos), height, width, 3)


def _main() -> None:
    import mujoco

    model, positions, width, height = pickle.load(sys.stdin.buffer)  # from the process that started this one
    data, camera = mujoco.MjData(model), mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    camera.type, camera.trackbodyid = mujoco.mjtCamera.mjCAMERA_TRACKING, min(1, model.nbody - 1)
    camera.distance, camera.azimuth, camera.elevation = 4.0, 90.0, -15.0
    with mujoco.Renderer(model, height, width) as renderer:
        for qpos in positions:
            data.qpos[:] = qpos
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, camera)
            sys.stdout.buffer.write(np.ascontiguousarray(renderer.render()).tobytes())


if __name__ == "__main__":
    _main()
