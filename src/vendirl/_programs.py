"""Programs that are compiled ahead of time, and let go with the object that holds them.

`jax.jit` and `eqx.filter_jit` keep what they compile for as long as the function lives, and a closure is kept by the
cache itself. A process that trains many small runs would fill up with programs that nobody will call again, until the
kernel refuses it more memory maps. Nor does JAX let go of all that it notes about a program, some kilobytes of each; so
runs of the same settings share theirs.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PyTree

from vendirl._checks import AnyArray
from vendirl._host import undisturbed


class Program:
    """A function of pytrees, compiled when it is first called with arguments of some shapes.

    Args:
        function: pure; what is not an array in its arguments and results is part of the program.
        options: for the compiler; those that it does not know are left out.
        jit: settings of `jax.jit`, such as shardings.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any] | None = None, **jit: Any):
        self.function, self.options, self.jit = function, options, jit
        self._compiled: dict[Any, tuple[Callable[..., Any], list[Any]]] = {}

    def __call__(self, *arguments: PyTree) -> PyTree:
        arrays, static = eqx.partition(arguments, eqx.is_array)
        program, rest = self._program(arrays, static)
        return eqx.combine(program(arrays), rest[0])

    def compile(self, *arguments: PyTree) -> None:
        """Compile for arguments like these, which may be abstract."""
        arrays, static = eqx.partition(arguments, lambda x: eqx.is_array(x) or isinstance(x, jax.ShapeDtypeStruct))
        self._program(arrays, static)

    def _program(
        self, arrays: PyTree[AnyArray | jax.ShapeDtypeStruct], static: PyTree
    ) -> tuple[Callable[..., PyTree], list[PyTree]]:
        leaves, structure = jax.tree.flatten(arrays)
        known = (structure, tuple((leaf.shape, leaf.dtype, _place(leaf)) for leaf in leaves))
        if known not in self._compiled:
            rest: list[Any] = []

            def of_arrays(arrays):
                found, others = eqx.partition(self.function(*eqx.combine(arrays, static)), eqx.is_array)
                rest.append(others)
                return found

            with undisturbed():
                lowered = jax.jit(of_arrays, **self.jit).lower(arrays)
            self._compiled[known] = compiled(lowered, self.options), rest
        return self._compiled[known]


class Recent:
    """A function of pytrees, of whose programs those that were called last are kept, and the others let go.

    It does what `eqx.filter_jit` does, which keeps them all: whoever trains with one similarity, network or environment
    after the other would never call most of them again.

    Args:
        function: pure; what is not an array in its arguments is hashable, and part of the program.
        most: how many programs are kept.
    """

    def __init__(self, function: Callable[..., Any], most: int = 16):
        self.function, self.most = function, most
        self.programs: OrderedDict[Any, Program] = OrderedDict()

    def __call__(self, *arguments: PyTree) -> PyTree:
        arrays, static = eqx.partition(arguments, eqx.is_array)
        shapes = tuple((leaf.shape, leaf.dtype, _place(leaf)) for leaf in jax.tree.leaves(arrays))
        leaves, structure = jax.tree.flatten(static)
        known = (structure, tuple(map(_told_apart, leaves)), shapes)
        program = self.programs.pop(known, None) or Program(self.function)
        self.programs[known] = program  # as the newest
        while len(self.programs) > self.most:
            self.programs.popitem(last=False)
        return program(*arguments)


class Shared:
    """Programs of runs that are made of the same settings, which are compiled once.

    While there is room every program is kept. After that one is kept only when it is asked for again, in the place of
    the one that was asked for longest ago; of others nothing stays but that they were asked for. So one run of other
    settings, among runs that take turns, does not push out all of their programs, each shortly before it is needed; and
    a process that has filled its room holds no more after the next thousand runs.

    Args:
        most: how many programs are kept.
        noted: of how many it is known that they were asked for.
    """

    def __init__(self, most: int = 6, noted: int = 64):
        self.most, self.noted = most, noted
        self.programs: OrderedDict[Hashable, Any] = OrderedDict()
        self.asked: OrderedDict[Hashable, None] = OrderedDict()

    def get(self, known: Hashable | None, make: Callable[[], Any]) -> Any:
        """What was made for this before, or what is made now; nothing is kept for None."""
        if known is None:
            return make()
        known = known, _jax_settings()
        if known in self.programs:
            self.programs.move_to_end(known)  # as the newest
            return self.programs[known]
        again = known in self.asked
        self.asked[known] = None
        self.asked.move_to_end(known)
        while len(self.asked) > self.noted:
            self.asked.popitem(last=False)
        if len(self.programs) >= self.most:
            if not again:
                return make()
            self.programs.popitem(last=False)  # before the new one is made, so that there is room
        self.programs[known] = program = make()
        return program


def plain(thing: Any) -> Hashable | None:
    """What tells a thing apart that is made of this package's own kinds of objects, numbers and text, and of nothing
    else; None if there is anything else in it, such as an array, a function, or a class of somebody's own, of which
    nobody knows whether it is still what it was."""
    kind = type(thing)
    if thing is None or kind in (bool, int, float, str):
        return kind, repr(thing)
    if kind in (tuple, list, dict):
        parts = list(thing.items()) if kind is dict else thing
    elif dataclasses.is_dataclass(kind) and kind.__module__.partition(".")[0] == __package__:
        parts = sorted(vars(thing).items())
    else:
        return None
    known = tuple(map(plain, parts))
    return None if None in known else (kind, known)


def _jax_settings() -> Hashable:
    """What JAX is told beside a program, such as the precision of its numbers, which becomes a part of it."""
    return tuple(str(getattr(jax.config, name, None)) for name in sorted(jax.config.values))


def _told_apart(leaf: Any) -> tuple[type, Any]:
    """What differs between 1, 1.0 and True, which are equal, and make other programs."""
    return type(leaf), leaf


def _place(leaf: AnyArray | jax.ShapeDtypeStruct) -> Any:
    """Where an array has to stay, if somebody put it there."""
    return leaf.sharding if isinstance(leaf, jax.Array) and leaf.committed else None


def compiled(lowered: jax.stages.Lowered, options: dict[str, Any] | None) -> Callable[..., Any]:
    """The program, compiled with options that another release of JAX may not know, and can do without."""
    try:
        return lowered.compile(options)
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" not in str(error):
            raise
        return lowered.compile()
