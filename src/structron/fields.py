"""Fields of options: default, range, help text and command-line name of an option are one dataclass field.

A group of options is a dataclass of such fields, and inherits from other groups:

    @options({"order": 2, "runs": 4})              new defaults for inherited options
    class TaggerOptions(LabelOptions): …

An estimator has an instance of its task's class (estimator.py); its signature, `get_params`, `set_params`, `repr`,
docstring, model header and command line all follow from the fields. Every help text imports this module, so it needs
neither numpy nor numba.
"""

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, dataclass_transform

from structron.errors import StructronError, meant, quoted, unknown

DEFAULT = "default"
"""Stands for a value that depends on other options."""
SECTIONS = ("data", "features", "learning", "search", "output", "research")
"""Of a help text, in this order; what only research asks for comes last."""


@dataclass(frozen=True, slots=True)
class Option:
    """What is known of an option beside its default."""

    help: str
    kind: str = "free"  # free, whole, real, switch, choice; repeatable: names, pairs, files
    choices: tuple[str, ...] = ()  # of a free option: the words that the command line takes
    least: float | None = None
    above: float | None = None
    most: float | None = None
    none: str = ""  # the word for None on the command line; "": None is not allowed
    metavar: str = ""
    flag: str | None = ""  # on the command line; "": like the field; None: Python only
    stored: bool = True  # whether a model file keeps it
    fixed: bool = False  # whether training that goes on from a model has to keep it
    section: str = ""  # of the help text; "": that of its group
    holds: str = "text"  # what a model file may have of a free option: text, or texts

    @property
    def expected(self) -> str:
        """What a value has to be."""
        if self.choices:
            return f"one of: {', '.join(self.choices)}"
        text = {"whole": "a whole number", "switch": "True or False"}.get(self.kind, "a number")
        if self.least is not None:
            text += f" of at least {self.least:g}"
        if self.above is not None:
            text += f" above {self.above:g}"
        if self.most is not None:
            text += f" and at most {self.most:g}"
        return text

    def fits(self, value: Any) -> bool:
        """Whether a value is of the kind, and within the range."""
        if value is None and self.none:
            return True
        if self.kind == "choice":
            return value in self.choices
        if self.kind == "switch":
            word = isinstance(value, str) and value in self.choices
            return word or (isinstance(value, bool | Integral) and value in (0, 1))
        if self.kind not in ("whole", "real"):
            return True
        known: tuple[type, ...] = (Integral,) if self.kind == "whole" else (Real,)
        if isinstance(value, bool) or not isinstance(value, known):
            return False
        x = float(value)  # type: ignore[arg-type]
        fits = math.isfinite(x) and (self.least is None or x >= self.least)
        return fits and (self.above is None or x > self.above) and (self.most is None or x <= self.most)

    def check(self, name: str, value: Any) -> None:
        """Refuse a value that cannot be."""
        if self.fits(value):
            return
        if self.kind == "choice":
            raise unknown(name, value, self.choices)
        raise StructronError(f"{name}: {quoted(value)}; expected {self.expected}{', or None' if self.none else ''}")

    def check_stored(self, name: str, value: Any) -> None:
        """Refuse what no model file says of an option: another kind of value, or one that files do not keep."""
        fits = self.stored
        if self.kind in ("free", "names", "pairs") and value is not None:
            holds = {"names": "texts", "pairs": "pairs"}.get(self.kind, self.holds)
            texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
            fits = fits and (isinstance(value, str) if holds == "text" else texts)
            if holds == "pairs":
                pairs = value if isinstance(value, list) else [None]
                fits = all(isinstance(pair, list) and list(map(type, pair)) == [str, str] for pair in pairs)
        if not fits:
            raise StructronError(f"{name}: {quoted(value)} in the file")

    def read(self, text: str) -> Any:
        """The value that a text on the command line stands for."""
        if self.none and text == self.none:
            return None
        value = _number(text, self.kind == "whole") if self.kind in ("whole", "real") else text
        if not self.fits(value) or value is None or (self.choices and value not in self.choices):
            near = meant(text, [*self.choices, *filter(None, [self.none])])
            raise StructronError(f"{text}: expected {self.expected}{f', or {self.none}' if self.none else ''}{near}")
        return value


def _number(text: str, whole: bool) -> float | None:
    if whole:
        return int(text) if re.fullmatch("-?[0-9]{1,18}", text) else None
    try:
        return float(text)
    except ValueError:
        return None


def _option(help: str, default: Any, **known: Any) -> Any:
    return field(default=default, metadata={"option": Option(help, **known)})


def whole(help: str, *, default: int | None, least: int = 1, metavar: str = "N", **known: Any) -> Any:
    """A whole number."""
    return _option(help, default, kind="whole", least=least, metavar=metavar, **known)


def real(help: str, *, default: float | str | None, metavar: str, **known: Any) -> Any:
    """A number; say its range by `least` or `above`, and `most`."""
    return _option(help, default, kind="real", metavar=metavar, **known)


def switch(help: str, *, default: bool | None, **known: Any) -> Any:
    """On or off."""
    return _option(help, default, kind="switch", **known)


def choice(help: str, choices: Sequence[str], *, default: str | None, **known: Any) -> Any:
    """One of several words."""
    return _option(help, default, kind="choice", choices=tuple(choices), **known)


def free(help: str, *, default: Any, **known: Any) -> Any:
    """Anything; whoever uses it checks it."""
    return _option(help, default, **known)


class _FieldsSignature:
    """The signature of a class of options, made of its fields when somebody asks; None: it has a constructor."""

    def __get__(self, options: Any, kind: Any) -> inspect.Signature | None:
        if kind.__init__ is not Options.__init__ or not dataclasses.is_dataclass(getattr(kind, "options_class", kind)):
            return None
        order = sorted(fields_of(kind), key=lambda own: bool(own.kw_only))
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        found = [(own, inspect.Parameter.empty if own.default is dataclasses.MISSING else own.default) for own in order]
        return inspect.Signature(
            [
                inspect.Parameter(own.name, kinds[bool(own.kw_only)], default=default, annotation=own.type)
                for own, default in found
            ],
            return_annotation=None,
        )


class Options:
    """An object whose parameters are dataclass fields."""

    __signature__ = _FieldsSignature()

    section: ClassVar[str] = "learning"
    """Where the help text has the options of a group: one of SECTIONS."""

    def __init__(self, *given: Any, **values: Any) -> None:
        """What a dataclass's own constructor does: one for all classes takes far less of the start of every command
        than one that is compiled for each."""
        name, fields = f"{type(self).__name__}.__init__()", fields_of(type(self))
        places = [own.name for own in fields if not own.kw_only]
        if len(given) > len(places):
            raise TypeError(f"{name} takes {len(places)} positional arguments; {len(given)} were given")
        for place, value in zip(places, given, strict=False):
            if place in values:
                raise TypeError(f"{name} got multiple values for argument {place!r}")
            values[place] = value
        for own in fields:
            value = values.pop(own.name, own.default)
            if value is dataclasses.MISSING:
                raise TypeError(f"{name} missing 1 required argument: {own.name!r}")
            setattr(self, own.name, value)
        for unknown_name in values:
            raise TypeError(f"{name} got an unexpected keyword argument {unknown_name!r}")

    def get_params(self) -> dict[str, Any]:
        """The present value of every parameter."""
        return {field.name: getattr(self, field.name) for field in fields_of(type(self))}

    def check_options(self) -> None:
        """Refuse values that are out of range, before any data are looked at."""
        for name, option in options_of(type(self)).items():
            value = getattr(self, name)
            if value != DEFAULT or not isinstance(value, str) or default_of(type(self), name) != DEFAULT:
                option.check(name, value)


def same_value(a: Any, b: Any) -> bool:
    """Whether two values of an option are one, such as a list and a tuple of the same; arrays are not compared."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return list(a) == list(b)
    return a is b or (type(a) is type(b) and not hasattr(a, "__array__") and bool(a == b))


def fields_of(kind: type) -> tuple[dataclasses.Field, ...]:
    """The fields of a class of options, or of the one that a class of estimators has."""
    return dataclasses.fields(getattr(kind, "options_class", kind))


def options_of(kind: type) -> dict[str, Option]:
    """The options of such a class by name."""
    return {f.name: f.metadata["option"] for f in fields_of(kind) if "option" in f.metadata}


def default_of(kind: type, name: str) -> Any:
    """The default of an option."""
    return next(f.default for f in fields_of(kind) if f.name == name)


_Kind = TypeVar("_Kind", bound=type[Any])


@dataclass_transform(kw_only_default=True, field_specifiers=(whole, real, switch, choice, free, field))
def options(defaults: Mapping[str, Any] = MappingProxyType({}), init: bool = False) -> Callable[[_Kind], _Kind]:
    """Make a class a dataclass of its options; `defaults` replace those of options that it inherits, and those that
    its `flagless` names are not on the command line. init: with a constructor of its own, which lists the parameters.
    """

    def decorate(kind: _Kind) -> _Kind:
        own = inspect.get_annotations(kind)
        changed = {*defaults, *vars(kind).get("flagless", ())} - {*own}
        for base in reversed(kind.__mro__[1:]):
            inherited = {f.name: f for f in dataclasses.fields(base)} if dataclasses.is_dataclass(base) else {}
            for name in inherited.keys() & changed:
                found = inherited[name]
                own[name] = found.type
                setattr(kind, name, field(default=defaults.get(name, found.default), metadata=found.metadata))
        for name, declared in vars(kind).items():
            if isinstance(declared, dataclasses.Field) and (option := declared.metadata.get("option")) is not None:
                flag = None if name in vars(kind).get("flagless", ()) else option.flag
                option = dataclasses.replace(option, flag=flag, section=option.section or kind.section)
                declared.metadata = MappingProxyType({"option": option})
        kind.__annotations__ = own
        made: Any = dataclass(kw_only=True, eq=False, repr=False, init=init)(kind)
        made.__doc__ = documented(made)
        return made

    return decorate


def documented(kind: type) -> str:
    """The docstring of a class with its options, before its example if it has one."""
    about, example, lines = (kind.__doc__ or "").rstrip().partition("\n\n    Examples:")
    options = [f"{name}: {option.help}" for name, option in options_of(kind).items()]
    return "\n        ".join([f"{about}\n\n    Args:", *options]) + example + lines
