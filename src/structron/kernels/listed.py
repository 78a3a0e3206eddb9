"""The list of kernels: which there are, for which arguments, how long each takes to compile, and who needs it.

    kernels.json    [{"function": "structron.search.beam.search.search", "arguments": "(…)", "returns": "…",
                      "seconds": 5.1, "needs": ["use parser", "train parser"]}, …]

`python -m benchmarks.kernels` writes it. With the list kernels can be compiled before they are needed, by as many
processes as there are cores (ahead.py): no kernel contains another, so none waits for another. What is not in the list
is compiled when it is first called, as ever.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from structron.kernels.reference import FunctionPointer, Reference, reference

FILE = Path(__file__).with_name("kernels.json")
SHARDS, CLUSTERS = "train shards", "train clusters"
COMMON = (SHARDS, CLUSTERS)
"""What is no task: what any task needs beside its own kernels to learn in shards; clusters of words."""


@dataclass(frozen=True, slots=True)
class ListedKernel:
    """A kernel for one kind of arguments."""

    function: str  # its full name
    arguments: str  # their types, as `spelled` has them
    returns: str  # the type that is declared for what it returns; "": none is
    allocates: bool
    seconds: float  # processor time, on the machine where `CALIBRATION` took 1 s
    needs: tuple[str, ...]  # "use TASK", "train TASK VARIANT", "more TASK": n-best lists, margins, explanations; COMMON


@cache
def every_kernel() -> tuple[ListedKernel, ...]:
    """The whole list."""
    try:
        found = json.loads(FILE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    return tuple(ListedKernel(**{**own, "needs": tuple(own["needs"])}) for own in found)


def needed_for(wanted: Iterable[str]) -> list[ListedKernel]:
    """The kernels that somebody needs, those that take longest first: "train tagger" for instance, or "train tagger
    beam", which is as "train tagger" where the list has no such variant."""
    known = {need for own in every_kernel() for need in own.needs}
    names = {need if need in known else " ".join(need.split()[:2]) for need in wanted}
    return sorted((own for own in every_kernel() if names & {*own.needs}), key=lambda own: (-own.seconds, own.function))


# -- signatures as text ------------------------------------------------------------------------------------------------


def spelled(kind: Any) -> str:
    """A type, or a signature, as a text that `read` understands."""
    from numba import types
    from numba.core.typing.templates import Signature

    if isinstance(kind, Signature):
        return f"{spelled(kind.return_type)}({', '.join(map(spelled, kind.args))})"
    if isinstance(kind, Reference):
        return f"ref({kind.name[1:]!r})"
    if isinstance(kind, types.FunctionType):
        return f"FunctionType({spelled(kind.signature)})"
    if isinstance(kind, types.Array):
        if kind.layout == "C" and kind.mutable:
            return f"{spelled(kind.dtype)}[{', '.join([':'] * (kind.ndim - 1) + ['::1'])}]"
        return f"Array({spelled(kind.dtype)}, {kind.ndim}, {kind.layout!r}, readonly={not kind.mutable})"
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        cls = kind.instance_class
        return f"NamedTuple(({', '.join(map(spelled, kind.types))},), the({f'{cls.__module__}.{cls.__qualname__}'!r}))"
    if isinstance(kind, types.UniTuple):
        return f"UniTuple({spelled(kind.dtype)}, {kind.count})"
    if isinstance(kind, types.Tuple):
        return f"Tuple(({', '.join(map(spelled, kind.types))},))"
    return str(kind)


def the(name: str) -> Any:
    """What has this full name."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def read(text: str) -> Any:
    """The inverse of `spelled`. The list comes with the package, and nobody else's texts are read."""
    from numba import types

    names = {name: value for name, value in vars(types).items() if not name.startswith("_")}
    names["FunctionType"] = FunctionPointer
    names |= {"ref": lambda name: reference(the(name)), "the": the, "bool": types.boolean, "__builtins__": {}}
    return eval(text, names)


def arguments_text(signature: Any) -> str:
    """The types of the arguments that a dispatcher is asked for."""
    return f"({''.join(f'{spelled(own)}, ' for own in getattr(signature, 'args', signature))})"


def returns_text(signature: Any) -> str:
    """The type that a signature declares for what is returned; "": none."""
    kind = getattr(signature, "return_type", None)
    return "" if kind is None else spelled(kind)
