"""Options as attributes of an estimator: `chunker.beam = 4` is `chunker.options.beam = 4`."""

from collections.abc import Callable
from inspect import Signature, signature
from operator import attrgetter
from typing import Any

from structron.fields import Option, fields_of, options_of


class OptionsSignature:
    """The signature of a class of estimators: that of its options, unless it has a constructor of its own."""

    def __init__(self, constructor: Callable):
        self.constructor = constructor

    def __get__(self, estimator: Any, kind: Any) -> Signature | None:
        if estimator is not None:
            raise AttributeError("__signature__")  # a pipeline can be called, which has a signature of its own
        return signature(kind.options_class) if kind.__init__ is self.constructor else None


def declare_options(kind: Any) -> None:
    """Give a class of estimators the attributes of its options; fields can be set."""
    options = kind.options_class
    known = {field.name for field in fields_of(options)}
    for name in {*dir(options), *known}:
        if not name.startswith("_") and not hasattr(kind, name):
            setattr(kind, name, _as_attribute(name, name in known, options_of(options).get(name)))


def _as_attribute(name: str, is_field: bool, option: Option | None) -> property:
    def put(estimator: Any, value: Any) -> None:
        setattr(estimator.options, name, value)

    return property(attrgetter(f"options.{name}"), put if is_field else None, None, option.help if option else None)
