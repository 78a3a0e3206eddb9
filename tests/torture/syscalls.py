"""Fail, or be killed at, the n-th system call that touches a file of a folder (Linux on x86-64, without a tracer's
privileges).

    copy of this process ──seccomp──▶ every call of the list waits ──▶ `Watch` counts those that touch the folder,
                                                                       lets them go on, fails the n-th or kills there
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

NUMBERS = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "lseek": 8, "mmap": 9,
    "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20, "access": 21, "sendfile": 40, "fcntl": 72,
    "flock": 73, "fsync": 74,
    "fdatasync": 75, "truncate": 76, "ftruncate": 77, "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "link": 86,
    "unlink": 87, "symlink": 88, "readlink": 89, "chmod": 90, "fchmod": 91, "statfs": 137, "fstatfs": 138,
    "getdents64": 217, "utimensat": 280, "openat": 257, "mkdirat": 258, "newfstatat": 262, "unlinkat": 263,
    "renameat": 264, "linkat": 265, "symlinkat": 266, "readlinkat": 267, "fchmodat": 268, "faccessat": 269,
    "fallocate": 285, "renameat2": 316, "copy_file_range": 326, "statx": 332, "openat2": 437, "faccessat2": 439,
}  # fmt: skip
"""Calls that touch files, by their numbers on x86-64."""
NAMES = {number: name for name, number in NUMBERS.items()}
BY_PATH = {"open", "stat", "lstat", "access", "truncate", "rename", "mkdir", "rmdir", "creat", "link", "unlink"}
BY_PATH |= {"readlink", "chmod", "statfs"}
"""Their first argument is a path."""
AT = {"openat", "mkdirat", "newfstatat", "unlinkat", "renameat", "linkat", "readlinkat", "fchmodat", "faccessat"}
AT |= {"renameat2", "statx", "openat2", "faccessat2", "utimensat"}
"""A folder's descriptor, and a path."""
TARGET = {"symlink": (None, 1), "symlinkat": (1, 2), "mmap": (4, None)}
"""Others: the places of descriptor and path. The rest begin with a descriptor."""
HERE = 0xFFFFFF9C  # AT_FDCWD

PR_SET_NO_NEW_PRIVS, SYS_SECCOMP, SET_MODE_FILTER, NEW_LISTENER = 38, 317, 1, 8
AUDIT_ARCH, ALLOW, NOTIFY, GO_ON = 0xC000003E, 0x7FFF0000, 0x7FC00000, 1
RECEIVE, SEND = 0xC0502100, 0xC0182101
NOTIFICATION, ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06


def is_possible() -> bool:
    """Whether this system lets a process watch another's calls."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    try:
        return Watch(Path("/nonexistent"), lambda: 0).run().status == 0
    except OSError:
        return False


@dataclass(slots=True)
class Ended:
    """How a watched process ended, and the calls that were counted."""

    status: int
    calls: list[str] = field(default_factory=list)


class Watch:
    """A copy of this process that does some work; the n-th call that touches the folder fails with `error`, or (0) the
    process is killed before it. n = 0: all go on."""

    def __init__(self, folder: Path, work: Callable[[], int], n: int = 0, error: int = 0):
        self.folder, self.work, self.n, self.error = os.path.realpath(folder), work, n, error
        self.calls: list[str] = []

    def run(self) -> Ended:
        """Do the work, and wait for its end."""
        here, there = socket.socketpair()
        process = os.fork()
        if process == 0:
            status = 70
            try:
                here.close()
                listener = _listen()
                socket.send_fds(there, [b"."], [listener])
                status = self.work()
            finally:
                os._exit(status)
        there.close()
        with here:
            _, listeners, *_ = socket.recv_fds(here, 1, 1)
        if not listeners:
            os.waitpid(process, 0)
            raise OSError(errno.EPERM, "no process may watch another here")
        (listener,) = listeners
        try:
            self._answer_all(process, listener)
        finally:
            os.close(listener)
        return Ended(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), self.calls)

    def _answer_all(self, process: int, listener: int) -> None:
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        while True:
            (_, event), *_ = poll.poll()
            if not event & select.POLLIN:  # nobody is left to call
                return
            buffer = bytearray(NOTIFICATION.size)
            try:
                fcntl.ioctl(listener, RECEIVE, buffer)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR):  # whoever called is gone
                    continue
                raise
            call, caller, _, number, _, _, *arguments = NOTIFICATION.unpack(buffer)
            failure = self._judge(process, caller, NAMES[number], arguments)
            if failure is None:
                continue  # killed: with an answer the call might go on before that
            answer = ANSWER.pack(call, 0, -failure, 0) if failure else ANSWER.pack(call, 0, 0, GO_ON)
            try:
                fcntl.ioctl(listener, SEND, answer)
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise

    def _judge(self, process: int, caller: int, name: str, arguments: list[int]) -> int | None:
        """What becomes of a call: 0, it goes on; None, it never ends; else the number of its error."""
        path = _touched(caller, name, arguments)
        if path is None or not (path == self.folder or path.startswith(self.folder + "/")):
            return 0
        self.calls.append(f"{name} {path[len(self.folder) + 1 :]}")
        if len(self.calls) != self.n:
            return 0
        if self.error:
            return self.error
        os.kill(process, signal.SIGKILL)
        return None


def _touched(caller: int, name: str, arguments: list[int]) -> str | None:
    """The path of the file that a call touches; None: none that has a name."""
    place, at = TARGET.get(name, (None, 0) if name in BY_PATH else (0, 1) if name in AT else (0, None))
    try:
        path = "" if at is None else _text(caller, arguments[at])
        if path.startswith("/"):
            return os.path.normpath(path)
        descriptor = HERE if place is None else arguments[place] & 0xFFFFFFFF
        folder = os.readlink(f"/proc/{caller}/cwd" if descriptor == HERE else f"/proc/{caller}/fd/{descriptor}")
        return os.path.normpath(os.path.join(folder, path)).removesuffix(" (deleted)")
    except OSError:
        return None


def _text(caller: int, address: int) -> str:
    """A text in the memory of a process."""
    with open(f"/proc/{caller}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        found = memory.read(4096 - address % 4096)
        if b"\0" not in found:
            found += memory.read(4096)
    return os.fsdecode(found.partition(b"\0")[0])


def _listen() -> int:
    """Have calls of the list wait for whoever holds the descriptor that is returned."""
    last = len(NUMBERS)
    program = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, AUDIT_ARCH), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, 0)]
    program += [(EQUAL, last - k, 0, number) for k, number in enumerate(NUMBERS.values())]
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, NOTIFY)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
    head = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    listener = libc.syscall(SYS_SECCOMP, SET_MODE_FILTER, NEW_LISTENER, head)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener
