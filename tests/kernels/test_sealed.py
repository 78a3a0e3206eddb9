"""Nothing is unpickled that somebody else can have written: owners, modes, keys, seals, manifests."""

import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from helpers import SOURCE
from structron.kernels import cache, fingerprint, sealed
from structron.kernels.sealed import HEAD, KEY, MAGIC, Untrusted, digest_of

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
OTHER = 4711
"""Somebody else's number."""
DATA = b"machine code"


@pytest.fixture
def kept(tmp_path) -> Path:
    """A kernel that this user has compiled."""
    folder = tmp_path / "place" / "fingerprint"
    folder.mkdir(parents=True, mode=0o755)
    sealed.write(folder / "kernel", DATA)
    yield folder / "kernel"
    sealed._closed_above.cache_clear()


@pytest.fixture
def give_away(monkeypatch):
    """Make a file or a folder another user's: really where root runs the tests, else for whoever looks at it open."""
    given, real = set(), os.fstat

    def fstat(descriptor):
        found = real(descriptor)
        if (found.st_dev, found.st_ino) not in given:
            return found
        return os.stat_result((*found[:4], OTHER, *found[5:]))

    def away(path: Path, owner: int = OTHER) -> None:
        if os.geteuid() == 0:
            os.chown(path, owner, -1, follow_symlinks=False)
        else:
            found = os.stat(path)
            given.add((found.st_dev, found.st_ino))
            monkeypatch.setattr(os, "fstat", fstat)

    return away


def forged(name: str, data: bytes, key: bytes = bytes(32)) -> bytes:
    """A file as somebody makes it who knows the format and not the key."""
    digest = digest_of(data)
    return MAGIC + digest + sealed._seal(key, name, digest) + data


def test_files_come_back(kept):
    assert sealed.read(kept) == DATA
    assert sorted(path.name for path in kept.parent.iterdir()) == [KEY, "kernel"]
    sealed.write(kept, b"")
    assert sealed.read(kept) == b""
    with pytest.raises(FileNotFoundError):
        sealed.read(kept.with_name("other"))


@posix
def test_nobody_else_can_read_the_key(kept):
    before = os.umask(0)
    try:
        folder = kept.parent.parent / "open"
        folder.mkdir(mode=0o755)
        sealed.write(folder / "kernel", DATA)
    finally:
        os.umask(before)
    for place in (kept.parent, folder):
        assert stat.S_IMODE((place / KEY).stat().st_mode) == 0o600
        assert not (place / "kernel").stat().st_mode & 0o022
    assert (folder / KEY).read_bytes() != kept.with_name(KEY).read_bytes()


@posix
@pytest.mark.parametrize("what", ["file", "folder", "key"])
def test_what_belongs_to_another_user_is_not_read(kept, give_away, what):
    give_away({"file": kept, "folder": kept.parent, "key": kept.with_name(KEY)}[what])
    with pytest.raises(Untrusted, match=r"another user|somebody else"):
        sealed.read(kept)
    if what != "file":
        with pytest.raises(Untrusted):
            sealed.write(kept, DATA)


@posix
@pytest.mark.parametrize("mode", [0o020, 0o002])
@pytest.mark.parametrize("what", ["file", "folder", "key"])
def test_what_others_can_write_to_is_not_read(kept, what, mode):
    place = {"file": kept, "folder": kept.parent, "key": kept.with_name(KEY)}[what]
    place.chmod(stat.S_IMODE(place.stat().st_mode) | mode)
    with pytest.raises(Untrusted):
        sealed.read(kept)


@posix
def test_links_and_pipes_are_not_followed(kept, tmp_path):
    link = kept.with_name("link")
    link.symlink_to(kept)
    with pytest.raises(OSError):
        sealed.read(link)
    folder = tmp_path / "elsewhere"
    folder.symlink_to(kept.parent)
    for use in (lambda: sealed.read(folder / "kernel"), lambda: sealed.write(folder / "kernel", DATA)):
        with pytest.raises(OSError):
            use()
    os.mkfifo(kept.with_name("pipe"))
    with pytest.raises(Untrusted, match="not a file"):
        sealed.read(kept.with_name("pipe"))


def test_a_seal_needs_the_key_and_the_name(kept):
    """A digest alone, another key, a kernel under the name of another: none of them is this user's."""
    for data in (forged("kernel", b"evil"), forged("kernel", b"evil", os.urandom(32)), forged("kernel", DATA)):
        kept.write_bytes(data)
        with pytest.raises(Untrusted, match="sealed with another key"):
            sealed.read(kept)
    sealed.write(kept, DATA)
    shutil.copy2(kept, kept.with_name("other"))
    with pytest.raises(Untrusted, match="sealed with another key"):
        sealed.read(kept.with_name("other"))
    changed = kept.read_bytes()[:HEAD] + b"machine c0de"
    kept.write_bytes(changed)
    with pytest.raises(Untrusted, match="damaged"):
        sealed.read(kept)


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33, None])
def test_without_a_whole_key_nothing_is_read(kept, content):
    key = kept.with_name(KEY)
    key.unlink()
    if content is not None:
        key.write_bytes(content)
        key.chmod(0o600)
    with pytest.raises(Untrusted):
        sealed.read(kept)
    if content is None:
        sealed.write(kept, DATA)
        assert sealed.read(kept) == DATA


@posix
def test_a_key_that_others_can_read_counts_where_they_cannot_write(kept, monkeypatch):
    """An image whose kernels everybody may read (`chmod -R a+rX`)."""
    kept.with_name(KEY).chmod(0o644)
    for closed in (True, False):
        monkeypatch.setattr(sealed, "_closed_above", lambda folder, closed=closed: closed)
        if closed:
            assert sealed.read(kept) == DATA
        else:
            with pytest.raises(Untrusted, match="others can read its key"):
                sealed.read(kept)


def test_processes_that_make_a_key_at_once_have_one(tmp_path):
    code = "import sys; from pathlib import Path; from structron.kernels import sealed; p = Path(sys.argv[1]);"
    code += "sys.stdin.read(1); sealed.write(p, b'x'); sealed.read(p)"
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / f"k{k}")], env=environment, stdin=subprocess.PIPE)
        for k in range(4)
    ]
    for process in running:
        process.stdin.close()
    assert [process.wait(60) for process in running] == [0] * 4
    assert [sealed.read(tmp_path / f"k{k}") for k in range(4)] == [b"x"] * 4
    assert len(list(tmp_path.iterdir())) == 5


# -- what an administrator has compiled --------------------------------------------------------------------------------

READ = """
import os, sys
from pathlib import Path
from structron.kernels import sealed
os.setgroups([]); os.setgid(4711); os.setuid(4711)
try:
    print(sealed.look(Path(sys.argv[1]).parent), sealed.read(Path(sys.argv[1])).decode())
except (OSError, sealed.Untrusted) as reason:
    print(type(reason).__name__, reason)
"""


def as_another(path: Path) -> str:
    """What another user reads there."""
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-c", READ, str(path)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@posix
@as_root
def test_everybody_reads_what_root_has_compiled():
    with tempfile.TemporaryDirectory() as name:
        above = Path(name)
        above.chmod(0o755)
        folder = above / "fingerprint"
        folder.mkdir(mode=0o755)
        path = folder / "kernel"
        sealed.write(path, DATA)
        assert as_another(path) == f"False {DATA.decode()}"
        for place, mode, expected in [
            (above, 0o777, "Untrusted others can write to a folder above it"),
            (above, 0o1777, f"False {DATA.decode()}"),
            (folder, 0o775, "Untrusted others can write to it"),
            (path, 0o664, "Untrusted others can write to it"),
        ]:
            before = stat.S_IMODE(place.stat().st_mode)
            place.chmod(mode)
            assert as_another(path) == expected
            place.chmod(before)
        path.write_bytes(path.read_bytes()[:-1])
        assert as_another(path) == "Untrusted damaged"
        os.chown(path, 4712, -1)
        assert as_another(path) == "Untrusted belongs to another user"


# -- a planted kernel --------------------------------------------------------------------------------------------------


class Planted:
    """What leaves a file behind when it is unpickled."""

    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


class Target:
    """What `unpacked` needs of Numba to begin."""


@posix
@pytest.mark.parametrize("how", ["owner", "folder", "mode", "forged", "ours"])
def test_a_planted_kernel_is_not_executed(tmp_path, monkeypatch, give_away, capsys, how):
    """The format is known to everybody: only the key is not. "ours" shows that the trap works."""
    (tmp_path / "mine.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("STRUCTRON_CACHE", str(tmp_path / "kernels"))
    monkeypatch.setattr(cache, "_told", set())
    cleared = (cache.places, cache._writable, cache._lock_file)
    for own in cleared:
        own.cache_clear()
    try:
        import mine

        folder, trap = cache._writable(), tmp_path / "executed"
        found = cache.KernelCache(mine.double)
        path = folder / cache.file_name(mine.double, ())
        sealed.write(path, pickle.dumps(Planted(str(trap))))
        if how in ("owner", "folder"):
            give_away(path if how == "owner" else folder)
        elif how == "mode":
            path.chmod(0o666)
        elif how == "forged":
            path.write_bytes(forged(path.name, pickle.dumps(Planted(str(trap)))))
        assert found._read(path.name, Target()) is None
        assert trap.exists() == (how == "ours")
        said = capsys.readouterr().err
        assert said.count("\n") == (how != "ours")
        assert str(path if how != "folder" else folder) in said or how == "ours"
    finally:
        sys.modules.pop("mine", None)
        monkeypatch.undo()
        for own in cleared:
            own.cache_clear()


# -- kernels of a wheel ------------------------------------------------------------------------------------------------


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel's kernels, for this very machine; change what `about.json` says by calling it."""
    processor = fingerprint.BASELINES.get(fingerprint.platform.machine())
    target = [fingerprint.binding.get_process_triple(), processor, ""]
    monkeypatch.setattr(fingerprint, "SHIPPED", tmp_path)
    monkeypatch.setenv("STRUCTRON_CACHE", str(tmp_path / "cache"))
    cleared = (cache.places, cache._writable, fingerprint.of_wheel)
    for own in cleared:
        own.cache_clear()
    monkeypatch.setattr(fingerprint, "NEEDED", {})
    monkeypatch.setattr(cache, "_told", set())
    (tmp_path / "kernel").write_bytes(DATA)
    (tmp_path / "unlisted").write_bytes(DATA)
    plain = {"target": target, "versions": fingerprint.versions(), "contents": fingerprint.contents()}

    def about(**changed) -> None:
        kernels = {"kernel": digest_of(DATA).hex(), "gone": digest_of(b"").hex()}
        (tmp_path / fingerprint.ABOUT).write_text(json.dumps(plain | {"kernels": kernels} | changed))
        fingerprint.of_wheel.cache_clear()

    about()
    yield about
    monkeypatch.undo()
    for own in cleared:
        own.cache_clear()


def test_only_what_the_manifest_lists_is_loaded(wheel, tmp_path, capsys):
    assert cache._of_wheel("kernel") == DATA
    assert cache._of_wheel("unlisted") is cache._of_wheel("gone") is None
    assert "kernel" in cache.names()
    assert capsys.readouterr().err == ""
    (tmp_path / "kernel").write_bytes(DATA[:-1] + b"x")
    assert cache._of_wheel("kernel") is None
    expected = "structron: warning: kernel: not the kernel that came with the wheel; the kernel is compiled again\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("manifest", [[], None, "kernel", 7])
def test_a_manifest_that_is_none_is_said(wheel, capsys, manifest):
    wheel(kernels=manifest)
    assert cache._of_wheel("kernel") is None
    assert "are for something that cannot be read: kernels are compiled on first use" in capsys.readouterr().err


def test_kernels_of_other_versions_are_left(wheel, capsys, monkeypatch):
    """A line says so once, and again only when it is another line."""

    def said(version):
        wheel(versions=fingerprint.versions() | {"numba": version, "llvmlite": "0.9"})
        monkeypatch.setattr(cache, "_told", set())  # as in the next process
        assert cache._of_wheel("kernel") is None
        assert "kernel" not in cache.names()
        return capsys.readouterr().err

    line = said("0.1")
    assert line.startswith("structron: warning: the compiled kernels of this wheel are for numba 0.1, not")
    assert line.endswith("; to use those of the wheel: pip install numba==0.1 llvmlite==0.9\n")
    assert line.count("\n") == 1
    assert said("0.1") == ""
    assert "numba 0.2" in said("0.2")
