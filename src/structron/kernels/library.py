"""Machine code as it comes from a file.

Numba keeps two things of a kernel: its machine code, and its bitcode, from which a kernel that calls it is compiled. It
reads both, which takes longer for the second, and goes through the bitcode for the names of what is defined. Whoever
only runs the kernel needs neither: names are kept beside the code, and bitcode is read when a compiler asks for it.
"""

from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result

NO_ANNOTATION = ""
"""A listing with the type of every variable: longer than the code, and nobody reads it."""


class StoredLibrary(JITCodeLibrary):
    """The code of one kernel from a file."""

    def __init__(self, codegen: Any, name: str, machine_code: bytes, bitcode: bytes, defined: set[str]):
        super().__init__(codegen, name)
        self.bitcode = bitcode
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        codegen._engine._defined_symbols |= defined

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self.bitcode)
        return self._shared_module


def reduced(result: Any) -> Any:
    """What a compiled kernel is kept as."""
    module = result.library._get_module_for_linking()
    defined = {
        own.name for all_ in (module.functions, module.global_variables) for own in all_ if not own.is_declaration
    }
    code, fndesc, environment, signature, objectmode, lifted, _, *rest = result._reduce()
    return defined, (code, fndesc, environment, signature, objectmode, lifted, NO_ANNOTATION, *rest)


def rebuilt(target_context: Any, kept: Any) -> Any:
    """The inverse of `reduced`."""
    defined, (code, fndesc, environment, signature, objectmode, lifted, annotation, reload_init, environments) = kept
    name, _, (machine_code, bitcode) = code
    library = StoredLibrary(target_context.codegen(), name, machine_code, bitcode, defined)
    for function in reload_init:
        function()
    found = compile_result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=environment,
        entry_point=target_context.get_executable(library, fndesc, environment),
        fndesc=fndesc,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        reload_init=reload_init,
        referenced_envs=environments,
    )
    for own in environments:
        library.codegen.set_env(own.env_name, own)
    return found
