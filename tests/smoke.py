"""Every command of an installed structron: `python tests/smoke.py [wheel] [sdist]` builds, installs in a venv, tries.

    python -W error::DeprecationWarning tests/smoke.py --here FOLDER      tries the structron that this Python has

    python tests/smoke.py --readme FOLDER                             runs what README.md shows, by the same

Deprecation warnings are errors: what they tell of, the next Python does not have.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WARNINGS = [f"-Werror::{kind}" for kind in ("DeprecationWarning", "PendingDeprecationWarning", "SyntaxWarning")]
SMALL = ["--passes", "2", "--runs", "1", "--quiet"]


def runs(folder: Path) -> dict[str, list[list]]:
    """What is tried of each command, in order; files are those of earlier runs."""
    train, dev, bank = folder / "train.conll", folder / "dev.conll", folder / "train.conllu"
    chunker, tagger, out = folder / "chunker.structron", folder / "tagger.structron", folder / "out"
    files = ["--train", train, "--dev", dev, "--log", folder / "log", "--checkpoint", folder / "checkpoint"]
    return {
        "train": [
            ["chunker", *files, "--model", chunker, *SMALL],
            ["tagger", "--train", bank, "--model", tagger, *SMALL],
            ["tokenizer", "--train", bank, "--model", folder / "tokenizer.structron", "--passes", "1", "--quiet"],
        ],
        "predict": [[chunker, dev, "--output", out], [chunker, dev, "--nbest", "2"], [chunker, dev, "--confidence"]],
        "evaluate": [[chunker, dev], [tagger, bank, "--json"]],
        "choose": [[dev, "--model", chunker, "--number", "3", "--output", folder / "chosen.conll"]],
        "compare": [[chunker, chunker, dev], [chunker, chunker, dev, "--json"]],
        "inspect": [[chunker, "--label", "B-NP"], [chunker, "--sentence", "The/DT dog/NN", "--json"]],
        "annotate": [
            ["--text", "Dr. Smith didn't sleep. He flew to Paris."],
            ["--text", "It rains.", "--format", "json", "--model", folder / "tokenizer.structron"],
            ["--text", "It rains.", "--format", "html", "--output", folder / "page.html"],
        ],
        "check": [[bank], [bank, "--against", bank, "--json"]],
        "cluster": [[dev, "--tokenized", "--classes", "8", "--output", folder / "paths"]],
        "lexicon": [[bank, "--output", folder / "lexicon"]],
        "import-templates": [[folder / "crf.template", "--columns", "word,pos,chunk", "--output", folder / "ours"]],
        "new-problem": [["word_order", "--output-dir", folder]],
        "serve": [[folder / "nothing.structron"]],
        "teach": [[folder / "p.teach", "--texts", train, "--task", "tagger", "--export", folder / "taught.conll"]],
        "capabilities": [[]],
        "precompile": [["chunker"]],
        "demo": [["--task", "tagger", "--out", folder / "demo"]],
        "experiment": [["nobody2000"]],
        "papers": [["--results", folder / "results"]],
    }


MISTAKES = ("experiment", "serve")
"""Commands that are tried with a mistake only: the right thing takes hours, corpora, or what an extra brings."""


def here(folder: Path) -> list[str]:
    """Try all commands in this process; returns what failed."""
    from structron.cli.app import main
    from structron.cli.commands import app
    from structron.data.toy_english import toy_english, write_conll, write_conllu

    corpus = toy_english(80, seed=3)
    for name, write in (("train.conll", write_conll), ("dev.conll", write_conll), ("train.conllu", write_conllu)):
        write(str(folder / name), corpus[60:] if name.startswith("dev") else corpus[:60])
    (folder / "results").mkdir()
    (folder / "crf.template").write_text("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,1]\nB\n")
    names = list(app.commands)
    tried = [["--version"], ["--help"], *([name, "--help"] for name in names)]
    tried += [[name, *argv] for name, found in runs(folder).items() for argv in found]
    failures = [f"{name}: not tried" for name in names if name not in runs(folder)]
    for argv in tried:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            status = main([str(argument) for argument in argv])
        if status != (2 if argv[0] in MISTAKES and argv[1:] != ["--help"] else 0):
            failures.append(f"{' '.join(map(str, argv))}: status {status}: {said.getvalue()}")
    return failures


def readme(folder: Path) -> list[str]:
    """Run the commands and the program of README.md in a folder; returns what failed, or printed something else."""
    from structron.cli.app import main

    text, failures = (ROOT / "README.md").read_text(encoding="utf-8"), []
    commands = re.findall(r"^    (?:echo (.*) \| )?structron (.*)$", text, re.MULTILINE)
    program, shown = re.search(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", text, re.DOTALL).groups()
    os.chdir(folder)
    for piped, given in commands:
        said = io.StringIO()
        sys.stdin = io.TextIOWrapper(io.BytesIO("".join(shlex.split(piped)).encode()))
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            status = main(shlex.split(given))
        if status:
            failures.append(f"structron {given}: status {status}: {said.getvalue()}")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {})
    if printed.getvalue().split("\n") != [line[4:] for line in shown.split("\n")]:
        failures.append(f"README.md: the program prints\n{printed.getvalue()}")
    return failures if len(commands) > 3 else ["README.md: no commands found"]


def installed(kind: str, folder: Path) -> int:
    """Build a wheel or a sdist, install it in a bare venv, and try all commands there; returns the exit status."""
    subprocess.run([sys.executable, "-m", "build", f"--{kind}", "--outdir", folder / "dist", ROOT], check=True)
    (package,) = (folder / "dist").iterdir()
    venv.create(folder / "venv", with_pip=True)
    python = next(path for path in ((folder / "venv").glob("*/python*")) if path.stem == "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
    (folder / "work").mkdir()
    status = 0
    for what in ("--here", "--readme"):
        command = [python, "-I", *WARNINGS, __file__, what, folder / "work"]
        status |= subprocess.run(command, cwd=folder / "work").returncode
    print(f"{package.name}: {'every command works' if status == 0 else 'failed'}", flush=True)
    return status


def main(argv: list[str]) -> int:
    if argv[:1] in (["--here"], ["--readme"]):
        failures = (here if argv[0] == "--here" else readme)(Path(argv[1]))
        print(*failures, sep="\n", file=sys.stderr)
        return 1 if failures else 0
    status = 0
    for kind in argv or ("wheel", "sdist"):
        with tempfile.TemporaryDirectory(prefix="smoke-") as folder:
            status |= installed(kind, Path(folder))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
