"""Methods of skill discovery, by name and by class; all of one shape, on the same loop and learners."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from vendirl._text import Expressions
from vendirl.methods.becl import BeCL
from vendirl.methods.cic import CIC
from vendirl.methods.combined import Combined, terms
from vendirl.methods.csf import CSF
from vendirl.methods.dads import DADS
from vendirl.methods.diayn import DIAYN
from vendirl.methods.diayn_sn import DIAYNSN
from vendirl.methods.disk import DISk
from vendirl.methods.eigenoptions import Eigenoptions
from vendirl.methods.fitted import Fitted
from vendirl.methods.lsd import LSD
from vendirl.methods.method import Method
from vendirl.methods.metra import METRA
from vendirl.methods.problem import Problem
from vendirl.methods.random import FromEnvironment, Random
from vendirl.methods.vendirl import VendiRL
from vendirl.methods.vic import RVIC, VIC
from vendirl.methods.visr import APS, VISR
from vendirl.methods.wurl import WURL

__all__ = ["Combined", "Fitted", "Method", "Problem", "VendiRL", "known", "parse_method", "register", "terms"]

Kind = TypeVar("Kind", bound=type[Method])

_methods: Expressions[Method] = Expressions("method", Method)


def register(method: Kind, name: str | None = None, **settings: Any) -> Kind:
    """Make a method known by its name, or by another name with other settings, to `parse_method` and `--method`."""
    if not settings:
        _methods.register(name or method.name, method)
        return method

    def factory(**given: Any) -> Method:
        return method(**{**settings, **given})

    factory.__doc__ = inspect.getdoc(method)
    vars(factory)["__wrapped__"] = method  # whose settings it has
    _methods.register(name or method.name, factory)
    return method


def known() -> dict[str, Callable[..., Method]]:
    """The methods that have a name."""
    return _methods.known()


def parse_method(text: str | object) -> Method:
    """The method that a text describes: "metra", "metra(dimension=3)", "diayn.on(x, y)", "diayn + 0.5*vendirl".

    >>> parse_method("metra(dimension=3)").dimension
    3
    """
    return _methods.parse(text)


for _method in (
    *(VendiRL, DIAYN, DIAYNSN, VIC, RVIC, DADS, LSD, METRA, CSF, VISR, APS, BeCL, CIC, DISk, WURL, Eigenoptions),
    *(Random, FromEnvironment),
):
    register(_method)

# DIAYN as it was published, and as Brax's library of skills had it.
register(DIAYN, "diayn-original", current=True)
register(DIAYN, "diayn-braxlines", clip=5.0, hidden=(32, 32), learning_rate=3e-4)
