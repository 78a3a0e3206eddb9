"""Tuples of arrays as kernels read them (reference.py): words, written by machine code.

Most tuples are new with every call, and Python would take longer to write one of thirty arrays than the kernel runs.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

WORD = 8
"""Bytes of all that a field is made of."""
HEAD = 5
"""Words of an array before its shape: two for reference counting, which are 0, then items, bytes of one, address."""
CHAR, INT, LONG = (ir.IntType(bits) for bits in (8, 32, 64))
BYTE = CHAR.as_pointer()
CONTIGUOUS = 0x3C
"""What is asked of an array's buffer: its format, and that it is contiguous (PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)."""
BUFFER, LENGTH, DIMENSIONS, FORMAT, SHAPE, STRIDES = 0, 16, 36, 40, 48, 56
"""Places in a Py_buffer; it has BUFFER_SIZE bytes."""
BUFFER_SIZE = 128


def _c_function(module: Any, name: str, result: Any, *arguments: Any) -> Any:
    return cgutils.get_or_insert_function(module, ir.FunctionType(result, arguments), name)


def _at(builder: Any, address: Any, offset: Any, kind: Any) -> Any:
    """A pointer to what stands so many bytes after an address."""
    offset = LONG(offset) if isinstance(offset, int) else offset
    return builder.bitcast(builder.gep(address, [offset]), kind.as_pointer())


def _own_function(module: Any, name: str, result: Any, *arguments: Any) -> tuple[Any, ir.IRBuilder | None]:
    """A function of a module, and a builder for its body unless it has one."""
    found = module.globals.get(name)
    if found is not None:
        return found, None
    found = ir.Function(module, ir.FunctionType(result, arguments), name)
    found.linkage = "internal"
    found.attributes.add("noinline")
    return found, ir.IRBuilder(found.append_basic_block("entry"))


def _array_writer(module: Any) -> Any:
    """write(array, format, dimensions, bytes of an item, words): whether it is such an array, and contiguous."""
    found, builder = _own_function(module, "structron.write_array", INT, BYTE, CHAR, INT, LONG, BYTE)
    if builder is None:
        return found
    array, form, dimensions, size, words = found.args
    get = _c_function(module, "PyObject_GetBuffer", INT, BYTE, BYTE, INT)
    release = _c_function(module, "PyBuffer_Release", ir.VoidType(), BYTE)
    view = builder.bitcast(builder.alloca(ir.ArrayType(LONG, BUFFER_SIZE // WORD)), BYTE)
    with builder.if_then(builder.icmp_signed("!=", builder.call(get, [array, view, INT(CONTIGUOUS)]), INT(0))):
        builder.ret(INT(0))
    text = builder.load(_at(builder, view, FORMAT, BYTE))
    end, own = builder.load(_at(builder, text, 1, CHAR)), builder.load(_at(builder, view, DIMENSIONS, INT))
    fits = builder.icmp_signed("==", builder.load(text), form)
    fits = builder.and_(fits, builder.icmp_signed("==", end, CHAR(0)))
    fits = builder.and_(fits, builder.icmp_signed("==", own, dimensions))
    with builder.if_then(fits):
        given = (builder.sdiv(builder.load(_at(builder, view, LENGTH, LONG)), size), size)
        for place, value in enumerate((LONG(0), LONG(0), *given, builder.load(_at(builder, view, BUFFER, LONG)))):
            builder.store(value, _at(builder, words, WORD * place, LONG))
        count = builder.sext(dimensions, LONG)
        for source, after in ((SHAPE, LONG(0)), (STRIDES, count)):
            numbers = builder.load(_at(builder, view, source, LONG.as_pointer()))
            with cgutils.for_range(builder, count) as loop:
                place = builder.mul(builder.add(builder.add(loop.index, after), LONG(HEAD)), LONG(WORD))
                builder.store(builder.load(builder.gep(numbers, [loop.index])), _at(builder, words, place, LONG))
    builder.call(release, [view])
    builder.ret(builder.zext(fits, INT))
    return found


def words_function(kind: Any, c: Any) -> Any:
    """address(tuple): that of its words, kept in the tuple's dictionary as bytes; 0 where a field is not as declared.

    kind: the `Reference`.
    """
    module = c.builder.module
    found, builder = _own_function(module, f"structron.address.{kind.name}", BYTE, BYTE)
    if builder is None:
        return found
    (value,) = found.args
    nothing = BYTE(None)
    own = builder.call(_c_function(module, "PyObject_GenericGetDict", BYTE, BYTE, BYTE), [value, nothing])
    name = builder.call(_c_function(module, "PyUnicode_InternFromString", BYTE, BYTE), [_text(c, kind.name)])
    text_of = _c_function(module, "PyBytes_AsString", BYTE, BYTE)
    release = _c_function(module, "Py_DecRef", ir.VoidType(), BYTE)

    def leave(result: Any, *objects: Any) -> None:
        for each in (name, own, *objects):
            builder.call(release, [each])
        builder.ret(result)

    with builder.if_then(builder.or_(cgutils.is_null(builder, own), cgutils.is_null(builder, name)), likely=False):
        leave(nothing)
    kept = builder.call(_c_function(module, "PyDict_GetItem", BYTE, BYTE, BYTE), [own, name])
    with builder.if_then(builder.not_(cgutils.is_null(builder, kept))):
        leave(builder.call(text_of, [kept]))
    make = _c_function(module, "PyBytes_FromStringAndSize", BYTE, BYTE, LONG)
    new = builder.call(make, [nothing, LONG(WORD * kind.words)])
    with builder.if_then(cgutils.is_null(builder, new), likely=False):
        leave(nothing)
    words = builder.call(text_of, [new])
    for number, (field, of) in enumerate(kind.fields.items()):
        item = builder.call(_c_function(module, "PyTuple_GetItem", BYTE, BYTE, LONG), [value, LONG(number)])
        with builder.if_then(cgutils.is_null(builder, item), likely=False):
            leave(nothing, new)
        fits = _write_field(builder, of, item, builder.gep(words, [LONG(WORD * kind.offsets[field])]), c)
        with builder.if_then(builder.not_(fits), likely=False):
            leave(nothing, new)
    put = _c_function(module, "PyDict_SetDefault", BYTE, BYTE, BYTE, BYTE)
    leave(builder.call(text_of, [builder.call(put, [own, name, new])]), new)
    return found


def _text(c: Any, text: str) -> Any:
    return c.context.insert_const_string(c.builder.module, text)


def _write_field(builder: Any, of: Any, item: Any, words: Any, c: Any) -> Any:
    """Write a field; returns whether it is as declared."""
    module = builder.module
    if isinstance(of, types.Array):
        dtype = np.dtype(of.dtype.name)
        given = (item, CHAR(ord(dtype.char)), INT(of.ndim), LONG(dtype.itemsize), words)
        return builder.icmp_signed("!=", builder.call(_array_writer(module), given), INT(0))
    if hasattr(of, "words"):
        number: Any = builder.call(words_function(of, c), [item])
        builder.store(builder.ptrtoint(number, LONG), builder.bitcast(words, LONG.as_pointer()))
        return builder.not_(cgutils.is_null(builder, number))
    kind, name = (ir.DoubleType(), "PyFloat_AsDouble") if isinstance(of, types.Float) else (LONG, "PyLong_AsLongLong")
    number = builder.call(_c_function(module, name, kind, BYTE), [item])
    builder.store(number, builder.bitcast(words, kind.as_pointer()))
    return cgutils.is_null(builder, builder.call(_c_function(module, "PyErr_Occurred", BYTE), []))
