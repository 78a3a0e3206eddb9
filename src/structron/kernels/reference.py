"""Tuples of arrays, and functions, that kernels take by reference.

Numba passes a tuple by value: one of seventy arrays is six hundred numbers at every call, and each look at one of its
fields moves all of them. A named tuple that is declared here reaches a kernel as one address; a field is read where it
is used, and no more of it than is used.

    @by_reference
    class Work(NamedTuple):
        node: Floats2        # what an array must be is part of the declaration
        ...

    kernel(work, ...)        # Python passes the tuple as it is

So a kernel has one signature, however its arrays came about, and an array of another kind is an error that names it.
"""

from functools import cached_property
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.experimental.function_type import FunctionModel
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from structron.kernels.words import BYTE, HEAD, WORD, words_function


def _array(kind: str, dimensions: int) -> Any:
    dtype = getattr(types, kind)
    return Annotated[np.ndarray, types.Array(dtype, dimensions, "C")]


Flags, Flags2 = (_array("boolean", n) for n in (1, 2))
Codes = _array("uint32", 1)
Bytes, Bytes2 = (_array("uint8", n) for n in (1, 2))
Shorts, Shorts2 = (_array("uint16", n) for n in (1, 2))
Ints, Ints2, Ints3 = (_array("int64", n) for n in (1, 2, 3))
Keys, Keys2, Keys3 = (_array("uint64", n) for n in (1, 2, 3))
Numbers, Numbers2 = (_array("int32", n) for n in (1, 2))
Floats, Floats2, Floats3, Floats4 = (_array("float32", n) for n in (1, 2, 3, 4))
Doubles, Doubles2 = (_array("float64", n) for n in (1, 2))


class Reference(types.Type):
    """The address of a declared tuple."""

    def __init__(self, name: str, fields: dict[str, types.Type]):
        self.fields = fields
        self.offsets, words = {}, 0
        for field, kind in fields.items():
            self.offsets[field] = words
            words += HEAD + 2 * kind.ndim if isinstance(kind, types.Array) else 1
        self.words = words
        super().__init__(name=f"&{name}")

    @property
    def key(self) -> Any:
        return self.name


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


@infer_getattr
class ReferenceFields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Any, field: str) -> Any:  # type: ignore[override]
        return kind.fields.get(field)


def _word(builder: Any, address: Any, place: int, kind: Any) -> Any:
    """A word of a declared tuple. Nothing changes it while a kernel runs: it may be read as early as one likes."""
    at = builder.gep(address, [ir.IntType(64)(place * WORD)])
    found = builder.load(builder.bitcast(at, kind.as_pointer()))
    found.set_metadata("invariant.load", builder.module.add_metadata([]))
    return found


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Any, address: Any, field: str) -> Any:
    of, first, int64 = kind.fields[field], kind.offsets[field], ir.IntType(64)
    if not isinstance(of, types.Array):
        return _word(builder, address, first, context.get_value_type(of))
    array = context.make_array(of)(context, builder)
    array.meminfo, array.parent = (cgutils.get_null_value(x.type) for x in (array.meminfo, array.parent))
    size = context.get_abi_sizeof(context.get_data_type(of.dtype))
    array.nitems, array.itemsize = _word(builder, address, first + 2, int64), int64(size)
    array.data = _word(builder, address, first + 4, array.data.type)
    dims = [_word(builder, address, first + HEAD + d, int64) for d in range(of.ndim)]
    steps = [_word(builder, address, first + HEAD + of.ndim + d, int64) for d in range(of.ndim - 1)] + [int64(size)]
    array.shape, array.strides = cgutils.pack_array(builder, dims), cgutils.pack_array(builder, steps)
    return array._getvalue()


@unbox(Reference)
def _address(kind: Any, value: Any, c: Any) -> NativeValue:
    """Where the words of a tuple stand. They are written once, by `words_function`; where it gives up, by Python
    (`address_`), which says what is wrong."""
    address = c.builder.call(words_function(kind, c), [value])
    slot = cgutils.alloca_once_value(c.builder, address)
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    with c.builder.if_then(cgutils.is_null(c.builder, address), likely=False):
        c.pyapi.err_clear()
        number = c.pyapi.object_getattr_string(value, "address_")
        missing = cgutils.is_null(c.builder, number)
        c.builder.store(missing, failed)
        with c.builder.if_then(c.builder.not_(missing)):
            c.builder.store(c.pyapi.long_as_voidptr(number), slot)
            c.pyapi.decref(number)
    return NativeValue(c.builder.load(slot), is_error=c.builder.load(failed))


def _pack(values: tuple[Any, ...], kind: Reference) -> np.ndarray:
    """A declared tuple as a kernel reads it."""
    words = np.zeros(kind.words, np.int64)
    for (field, of), value in zip(kind.fields.items(), values, strict=True):
        place = kind.offsets[field]
        if isinstance(of, types.Array):
            flags = value.flags
            if (
                value.dtype != np.dtype(of.dtype.name)
                or value.ndim != of.ndim
                or not (flags.c_contiguous and flags.aligned)
            ):
                raise TypeError(f"{kind.name[1:]}.{field}: {value.dtype}, {value.ndim} dimensions; expected {of}")
            words[place + 2 : place + HEAD] = value.size, value.itemsize, value.ctypes.data
            words[place + HEAD : place + HEAD + of.ndim] = value.shape
            words[place + HEAD + of.ndim : place + HEAD + 2 * of.ndim] = value.strides
        elif isinstance(of, Reference):
            words[place] = value.address_
        elif isinstance(of, types.Float):
            words[place : place + 1].view(np.float64)[0] = value
        else:
            words[place] = value
    return words


class Referred:
    """What a declared tuple has beside its fields."""

    @cached_property
    def packed_(self) -> np.ndarray:
        values: Any = self
        return _pack(values, reference(type(self)))

    @cached_property
    def address_(self) -> int:
        return self.packed_.ctypes.data

    def __getstate__(self) -> None:
        """A copy, or what is made of a pickle, has arrays elsewhere."""
        return


T = TypeVar("T", bound=type)
SCALARS = {int: types.int64, bool: types.int64, float: types.float64}


def _kind_of(hint: Any) -> Any:
    """What Numba calls a declared field."""
    for own in get_args(hint):
        if isinstance(own, types.Type):
            return own
    return getattr(hint, "reference_", None) or SCALARS[hint]


def by_reference(declared: T) -> T:
    """Have kernels take a named tuple by reference; see the module."""
    hints = get_type_hints(declared, include_extras=True)
    fields = {name: _kind_of(hints[name]) for name in declared._fields}  # type: ignore[attr-defined]
    reference = Reference(f"{declared.__module__}.{declared.__qualname__}", fields)
    own = {"__doc__": declared.__doc__, "__module__": declared.__module__, "__qualname__": declared.__qualname__}
    found: Any = type(declared.__name__, (declared, Referred), own | {"reference_": reference})
    typeof_impl.register(found)(lambda value, context: reference)
    return found


def reference(declared: Any) -> Reference:
    """The type of a declared tuple, for signatures."""
    found: Reference = declared.reference_
    return found


class FunctionPointer(types.FunctionType):
    """The type of a `Pointer` (jit.py). Numba looks up a function's addresses in Python at every call; here they are
    attributes."""


register_model(FunctionPointer)(FunctionModel)


@unbox(FunctionPointer)
def _addresses(kind: Any, value: Any, c: Any) -> NativeValue:
    found = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    found.py_addr = c.builder.bitcast(value, BYTE)
    missing = []
    for field, name in (("c_addr", "wrapper_address"), ("jit_addr", "address")):
        number = c.pyapi.object_getattr_string(value, name)
        missing.append(cgutils.is_null(c.builder, number))
        with c.builder.if_then(c.builder.not_(missing[-1])):
            setattr(found, field, c.pyapi.long_as_voidptr(number))
            c.pyapi.decref(number)
    return NativeValue(found._getvalue(), is_error=c.builder.or_(*missing))
