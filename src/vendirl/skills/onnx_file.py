"""A policy as an ONNX model, for runtimes in other languages; it needs `pip install 'vendirl[onnx]'` to write.

    observation (N, visible) float32, and where the skill sees it time (N, 1) float32, step / episode_length
    action      (N, A) float32 within the bounds, or (N,) int64

It has no noise. What else there is to know, such as the names of the features, is in the model's metadata.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from vendirl._files import write_bytes_atomically
from vendirl.skills.portable import LIMIT, Policy

OPSET = 17
"""Which operations may be used: what runtimes have known since 2022."""
_NAMES = {"tanh": "Tanh", "relu": "Relu"}


def write(policy: Policy, path: Path) -> None:
    """Write a policy as an ONNX model, all at once or not at all."""
    write_bytes_atomically(path, onnx_of(policy).SerializeToString())


def onnx_of(policy: Policy) -> Any:
    """The model, an `onnx.ModelProto`."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise ImportError(f"onnx is not installed ({error}); use: pip install 'vendirl[onnx]'") from None
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(value: Any) -> str:
        dtype = np.int64 if isinstance(value, int | list) else np.float32
        constants.append(numpy_helper.from_array(np.asarray(value, dtype), f"constant_{len(constants)}"))
        return constants[-1].name

    def apply(operation: str, *inputs: str, **settings: Any) -> str:
        nodes.append(helper.make_node(operation, inputs, [f"{operation.lower()}_{len(nodes)}"], **settings))
        return nodes[-1].output[0]

    x = apply("Mul", apply("Sub", "observation", constant(policy.mean)), constant(policy.scale))
    x = apply("Clip", x, constant(-LIMIT), constant(LIMIT))
    x = apply("Concat", x, "time", axis=1) if policy.timed else x
    for i, (W, b) in enumerate(policy.layers):
        x = apply(_NAMES[policy.activation], x) if i else x
        x = apply("Gemm", x, constant(W), constant(b), transB=1)
    if policy.low is None or policy.high is None:
        x = apply("Add", apply("ArgMax", x, axis=1, keepdims=0), constant(policy.first))
        shape: list[Any] = ["N"]
    else:
        if policy.kind == "squashed":
            x = apply("Tanh", apply("Slice", x, constant([0]), constant([policy.actions]), constant([1])))
        x = apply("Add", apply("Mul", x, constant(policy.half_width)), constant(policy.centre))
        x = apply("Min", apply("Max", x, constant(policy.low)), constant(policy.high))
        shape = ["N", policy.actions]
    apply("Identity", x)
    nodes[-1].output[0] = "action"
    inputs = [helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["N", len(policy.mean)])]
    if policy.timed:
        inputs.append(helper.make_tensor_value_info("time", TensorProto.FLOAT, ["N", 1]))
    kind = TensorProto.INT64 if policy.kind == "discrete" else TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "policy", inputs, [helper.make_tensor_value_info("action", kind, shape)], constants
    )
    # The oldest version of the format that knows these operations, for runtimes that are older than the package.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    about = {"env": policy.env, "skill": policy.skill, "episode_length": str(policy.episode_length)}
    helper.set_model_props(model, {**about, "features": json.dumps(policy.features)})
    onnx.checker.check_model(model)
    return model
