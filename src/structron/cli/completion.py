"""What a shell needs to complete commands: click's scripts, and where shells look for them."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class, shell_complete

from structron.errors import StructronError
from structron.io.text import atomic_write_bytes

PROGRAM = "structron"
VARIABLE = "_STRUCTRON_COMPLETE"
"""What a shell sets in the environment when it asks how a word may go on."""
PLACES = {
    "bash": (".bash_completions/structron.sh", ".bashrc", "source '{file}'"),
    "zsh": (".zfunc/_structron", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/structron.fish", "", ""),
}
"""By shell: the file of the script, and the file that has to have a line for it; both in the home folder."""


def complete(app: click.Command) -> int:
    """Answer a shell; returns the exit status."""
    return shell_complete(app, {}, PROGRAM, VARIABLE, os.environ[VARIABLE])


def script(app: click.Command, shell: str) -> str:
    """What a shell has to run once."""
    kind = get_completion_class(shell)
    if kind is None or shell not in PLACES:
        raise StructronError(f"SHELL: {shell or 'not set'}; expected one of: {', '.join(PLACES)}")
    return kind(app, {}, PROGRAM, VARIABLE).source()


def shell_in_use() -> str:
    """The user's shell, by name."""
    return Path(os.environ.get("SHELL", "")).name


def install(app: click.Command, shell: str, home: Path) -> Path:
    """Write the script where a shell finds it; returns the file."""
    text = script(app, shell)
    place, start, line = PLACES[shell]
    file = home / place
    line = line.format(file=file)
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write_bytes(file, text.encode())
    if start:
        begin = home / start
        before = begin.read_text(encoding="utf-8") if begin.exists() else ""
        if line not in before.splitlines():
            with begin.open("a", encoding="utf-8") as stream:
                stream.write(f"{'' if before.endswith(chr(10)) or not before else chr(10)}{line}\n")
    return file
