"""Compile all kernels for the baseline of this platform and put them into the package, for a wheel to bring along.

    python tools/ship_kernels.py        # then: python -m pip wheel --no-deps .      (tools/wheels.py does both)

Kernels that are there are made anew, on all cores. Nothing of this is committed; a wheel without them compiles on first
use. It fails if a kernel of the list cannot be compiled, needs what is not there on every machine, or is not used.
"""

import io
import json
import os
import pickle
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "structron"
sys.path.insert(0, str(PACKAGE.parent))

from llvmlite import binding  # noqa: E402

from structron.kernels import cache, fingerprint  # noqa: E402
from structron.kernels.ahead import compile_listed  # noqa: E402
from structron.kernels.listed import every_kernel  # noqa: E402
from structron.kernels.sealed import KEY, digest_of  # noqa: E402

SENTENCE = "He flew to Paris."
KNOWN = re.compile(
    r"Py\w+|_Py\w+|NRT_\w+|numba_\w+|_?numba\w+|_empty_tuple|"  # Numba gives LLVM their addresses
    r"mem(cpy|set|move|cmp|chr)|strlen|abort|"  # libc
    r"(a?(sin|cos|tan)h?|atan2|exp(2|m1)?|log(2|10|1p)?|pow|sqrt|cbrt|f?abs|floor|ceil|trunc|rint|round|f(ma|mod|max|min)|"
    r"copysign|hypot|ldexp|frexp|nearbyint|lround|l?lrint|roundeven)[fl]?|"  # libm
    r"__\w+(ti|di|si|sf|df|tf)[0-9]?|__chkstk|_GLOBAL_OFFSET_TABLE_"  # the compiler's own runtime
)
"""What object code may ask for: symbols that are there wherever Numba is. No library comes with them, and none has a
version (LLVM looks names up while it loads): so kernels run on every glibc that Numba itself runs on."""


def environment(**more: str) -> dict[str, str]:
    """Variables of a process that imports the package beside this file."""
    dropped = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
    plain = {name: value for name, value in os.environ.items() if name not in dropped}
    return plain | {"PYTHONPATH": str(PACKAGE.parent)} | more


def compile_all(place: Path, processor: str) -> Path:
    """Compile all kernels of the list into a cache; returns the folder they are in."""
    target = environment(NUMBA_CPU_NAME=processor, NUMBA_CPU_FEATURES="", STRUCTRON_CACHE=str(place))
    subprocess.run([sys.executable, "-m", "structron", "precompile"], env=target, stdout=subprocess.DEVNULL, check=True)
    # What is left is too little for several processes, or cannot be compiled: now one sees why.
    if subprocess.run([sys.executable, __file__, "--rest"], env=target).returncode:
        raise SystemExit(
            "the list of kernels is not that of the sources, or they are wrong: python -m benchmarks.kernels"
        )
    (folder,) = (path for path in place.iterdir() if path.is_dir())
    return folder


def compile_rest() -> None:
    """Compile what the cache lacks, in this process."""
    have, wrong = cache.names(), []
    for own in every_kernel():
        if fingerprint.listed_name(own) not in have:
            try:
                compile_listed(own)
            except Exception as error:
                wrong.append(f"{own.function}{own.arguments}: {type(error).__name__}: {error}")
    if wrong:
        raise SystemExit("\n".join(wrong))


def ship(folder: Path, to: Path, processor: str) -> tuple[int, int]:
    """Copy the kernels of the list; returns how many, and their bytes. SystemExit: one is missing, or unfit."""
    names = {fingerprint.listed_name(own): own.function for own in every_kernel()}
    if missing := sorted({names[name] for name in names.keys() - {*os.listdir(folder)}}):
        raise SystemExit(f"{len(missing)} kernels of the list were not compiled: {', '.join(missing)}")
    if not names:
        raise SystemExit("the list of kernels is empty: python -m benchmarks.kernels")
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    digests, size, foreign = {}, 0, set()
    for name in sorted(names):
        data = cache.unsealed(folder / name)
        if data is None:
            raise SystemExit(f"{name}: damaged")
        size += (to / name).write_bytes(data)
        digests[name] = digest_of(data).hex()
        foreign |= {symbol for symbol in undefined(object_code(data)) if not KNOWN.fullmatch(symbol)}
    if foreign:
        raise SystemExit(f"kernels ask for what may not be there elsewhere: {', '.join(sorted(foreign))}")
    target = [binding.get_process_triple(), processor, ""]
    about = {"target": target, "versions": fingerprint.versions(), "contents": fingerprint.contents()}
    about["kernels"] = digests
    (to / fingerprint.ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return len(names), size


# -- what object code asks for -----------------------------------------------------------------------------------------


class Plain(pickle.Unpickler):
    """Reads what a kernel's file is made of without rebuilding anything."""

    def find_class(self, module: str, name: str) -> type:
        return type(name, (), {"__init__": lambda self, *given: None, "__setstate__": lambda self, state: None})


def object_code(data: bytes) -> bytes:
    """The machine code in a kernel."""
    library = Plain(io.BytesIO(data)).load()[0]
    return library[2][0]


def undefined(code: bytes) -> set[str]:
    """Undefined symbols of an ELF file of 64 bits; of other formats: none, they are not looked into."""
    if code[:6] != b"\x7fELF\x02\x01":
        return set()
    (sections_at,), (size, count) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", code, sections_at + k * size) for k in range(count)]
    found = set()
    for _, kind, _, _, at, length, link, *_ in heads:
        if kind != 2:  # SHT_SYMTAB
            continue
        names = heads[link][4]
        for place in range(at + 24, at + length, 24):
            name, _, _, section = struct.unpack_from("<IBBH", code, place)
            if section == 0:
                found.add(code[names + name : code.index(b"\0", names + name)].decode())
    return found


# -- are they used? ----------------------------------------------------------------------------------------------------


def check_used(empty: Path) -> None:
    """Annotate a sentence with the kernels that are shipped: none may be compiled."""
    command = [sys.executable, "-m", "structron", "annotate", "--text", SENTENCE]
    done = subprocess.run(command, env=environment(STRUCTRON_CACHE=str(empty)), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"annotate failed with the kernels: {done.stderr}")
    hidden = (cache.LOCKS, KEY)
    compiled = sorted(path.name for path in empty.rglob("*") if path.is_file() and path.name not in hidden)
    if compiled:
        raise SystemExit(f"compiled in spite of the kernels: {', '.join(compiled)}\n{done.stderr}")


def main() -> None:
    """Compile, ship, check."""
    processor = fingerprint.BASELINES.get(platform.machine())
    if processor is None:
        raise SystemExit(f"no baseline is known for {platform.machine()}")
    shutil.rmtree(fingerprint.SHIPPED, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="structron-ship-") as name:
        made = compile_all(Path(name) / "made", processor)
        kernels, size = ship(made, fingerprint.SHIPPED, processor)
        check_used(Path(name) / "empty")
    print(f"{kernels} kernels for {processor}, {size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--rest"]:
        compile_rest()
    else:
        main()
