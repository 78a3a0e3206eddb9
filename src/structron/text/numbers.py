"""Floats as people write them: six digits, without the noise of 32 bits (21.4, not 21.399999618530273)."""

import json
from collections.abc import Iterable
from typing import Any


def short(x: float) -> float:
    """The same with six digits."""
    return float(f"{x:.6g}")


class ShortFloat(float):
    """A float that is printed with six digits; its value keeps all.

    Examples:
        >>> from structron.text.numbers import ShortFloat
        >>> score = ShortFloat(21.399999618530273)
        >>> score, float(score)
        (21.4, 21.399999618530273)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(short(self))


class ShortFloats:
    """Of a dataclass: its floats are printed with six digits."""

    __slots__ = ()

    def __repr__(self) -> str:
        values = ((name, getattr(self, name)) for name in self.__dataclass_fields__)  # type: ignore[attr-defined]
        texts = (f"{name}={short(own) if isinstance(own, float) else own!r}" for name, own in values)
        return f"{type(self).__name__}({', '.join(texts)})"


def shortened(values: Iterable[float]) -> list[float]:
    """Floats that are printed with six digits."""
    return list(map(ShortFloat, values))


def to_json(value: Any, **how: Any) -> str:
    """JSON whose floats have six digits.

    Examples:
        >>> from structron.text.numbers import to_json
        >>> to_json({"weights": [10.901875495910645, 2.5], "count": 1_234_567})
        '{"weights": [10.9019, 2.5], "count": 1234567}'
    """
    return json.dumps(_shorter(value), ensure_ascii=False, **how)


def _shorter(value: Any) -> Any:
    if isinstance(value, float):
        return short(value)
    if isinstance(value, dict):
        return {key: _shorter(own) for key, own in value.items()}
    return [_shorter(own) for own in value] if isinstance(value, list | tuple) else value
