"""Pages of the documentation as the tests read and run them.

    ```python … ```     runs; all such blocks of a page share their names, in order
    ```sh … ```         runs, line by line, in a folder of the page's own with files as pages call them (`world`)
    ```text … ```       right after one of these: what it printed, where … stands for anything; elsewhere: just text
    an indented block   is commands, Python or text: that can be told
    <!-- not run: WHY -->      before a block: it does not run, and why
    <!-- setup … -->           Python that runs and is not shown

Commands run in this process, once: pages that train the same model from the same files share what it gave.
"""

import ast
import contextlib
import gzip
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from helpers import ROOT
from structron.cli import main
from structron.data.toy_english import toy_english, write_conll, write_conllu

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUNS = ("python", "sh")
KINDS = (*RUNS, "text", "json", "yaml")
"""The languages of blocks: those that run, and those that do not."""
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: (.*?) -->\s*\Z", re.DOTALL)
COMMAND = re.compile(r"^(?P<before>[^|]*\| *)?structron(?P<given>( [^|>]*)?)(?P<after>[|>].*)?$")
"""Nothing in quotes may have a bar or an angle."""


@dataclass(frozen=True)
class Block:
    """A block of a page."""

    page: str
    line: int
    kind: str
    text: str
    output: str | None = None
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(path: Path) -> list[Block]:
    """The blocks of a page, with those of hidden setup, in order."""
    text = path.read_text(encoding="utf-8")
    page, found = str(path.relative_to(ROOT)), []
    parts = pieces(text)
    for k, (begin, end, kind, body) in enumerate(parts):
        output, following = None, parts[k + 1] if k + 1 < len(parts) else None
        if kind in RUNS and following and following[2] == "text" and not text[end : following[0]].strip():
            output = following[3]
        reason = NOT_RUN.search(text[:begin])
        line = text.count("\n", 0, begin) + 1
        found.append(Block(page, line, kind, body, output, reason[1].strip() if reason else None))
    for comment in COMMENT.finditer(text):
        if comment[1].lstrip().startswith("setup\n"):
            line = text.count("\n", 0, comment.start()) + 1
            found.append(Block(page, line, "python", comment[1].lstrip().removeprefix("setup\n")))
    return sorted(found, key=lambda block: block.line)


def pieces(text: str) -> list[tuple[int, int, str, str]]:
    """Fenced and indented blocks: where each begins and ends, its kind, and its lines."""
    return sorted([*_fenced(text), *_indented(text)])


def _fenced(text: str) -> Iterator[tuple[int, int, str, str]]:
    for fence in FENCE.finditer(text):
        body = re.sub(f"^{fence[1]}", "", fence[3], flags=re.MULTILINE)
        yield fence.start(), fence.end(), fence[2].split(" ")[0], body


def _indented(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Indented blocks that are no part of a list."""
    for hidden in (FENCE, COMMENT):
        text = hidden.sub(lambda m: re.sub(r"[^\n]", "x", m[0]), text)
    in_list, before, place = False, "", 0
    begin, lines = 0, []
    for line in [*text.split("\n"), "end"]:
        if lines and line.strip() and not line.startswith("    "):
            body = "".join(f"{own[4:]}\n" for own in lines).rstrip("\n") + "\n"
            yield begin, begin + len("\n".join(lines).rstrip()), kind_of(body), body
            lines = []
        if lines or (line.startswith("    ") and not before.strip() and not in_list):
            begin, lines = (begin, lines) if lines else (place, [])
            lines.append(line)
        elif line.strip() and not line.startswith(" "):
            in_list = bool(re.match(r"([-*+]|\d+\.) |!!! |\?\?\? |=== ", line))
        before, place = line, place + len(line) + 1


def kind_of(body: str) -> str:
    """What an indented block is."""
    if re.match(r"(structron|echo|cat|zcat|make|pip|ray|python) ", body):
        return "sh"
    with contextlib.suppress(SyntaxError):
        if any(not isinstance(node, ast.Expr | ast.AnnAssign) or _calls(node) for node in ast.parse(body).body):
            return "python"
    return "code" if re.search(r"\bstructron[. ]|^(import|from) |\bmodel\b.*[=(]", body, re.MULTILINE) else "text"


def _calls(node: ast.AST) -> bool:
    return any(isinstance(own, ast.Call) for own in ast.walk(node))


# -- running -----------------------------------------------------------------------------------------------------------


def world(folder: Path) -> Path:
    """Fill a folder with the files that pages speak of; everything is generated."""
    corpus = toy_english(260, seed=5)
    for name, lo, hi in (
        ("train", 0, 180),
        ("dev", 180, 220),
        ("test", 220, 260),
        ("more", 150, 200),
        ("new", 220, 240),
    ):
        write_conll(folder / f"{name}.conll", corpus[lo:hi])
        write_conllu(folder / f"{name}.conllu", corpus[lo:hi], lemmas=True)
        write_conll(folder / f"{name}-entities.conll", corpus[lo:hi], ("word", "pos", "entity"))
    rows = (folder / "train-entities.conll").read_text(encoding="utf-8").splitlines()
    five = [f"{k} {row.split()[0]} {row.split()[2]} - -" if row.strip() else "" for k, row in enumerate(rows)]
    (folder / "uner.conll").write_text("\n".join(five) + "\n", encoding="utf-8")
    text = "Dr. Smith didn't sleep. He flew to Paris.\n\nThe old man saw her duck.\n"
    for name in ("report.txt", "texte.txt", "notes.txt", "huge.txt", "more.txt"):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "places.txt").write_text("Paris\nNew York\n", encoding="utf-8")
    (folder / "names.txt").write_text("Smith\nMary Miller\n", encoding="utf-8")
    (folder / "words.tsv").write_text("Paris\tParis\tPROPN\nruns\trun\tVERB\n", encoding="utf-8")
    (folder / "ita.txt").write_text("cane\tcani\tN;PL\n", encoding="utf-8")
    for tag, table in {"noun": b'{"cani": "cane"}', "verb": b'{"corre": "correre"}'}.items():
        (folder / f"it_lemma_lookup_{tag}.json.gz").write_bytes(gzip.compress(table))
    (folder / "paths.txt").write_text("0110\tParis\t7\n0111\tSmith\t3\n", encoding="utf-8")
    (folder / "vectors.vec").write_text("3 2\nParis 1 0\nRome 0.9 0.1\ncat 0 1\n", encoding="utf-8")
    (folder / "mine.txt").write_text("w[0]\npos[0]\npos[-1]|pos[0]\nsuffix3[0]\n", encoding="utf-8")
    for name in ("crawl", "in"):
        (folder / name).mkdir()
    for k in range(2):
        (folder / "crawl" / f"{k}.txt.gz").write_bytes(gzip.compress(text.encode()))
        (folder / "in" / f"{k}.conllu.gz").write_bytes(gzip.compress((folder / "new.conllu").read_bytes()))
    (folder / "crawl.conllu.gz").write_bytes(gzip.compress((folder / "new.conllu").read_bytes()))
    return folder


MODELS = (
    "structron train tagger --train train.conllu --dev dev.conllu --model tagger.structron",
    "structron train chunker --columns word,pos,chunk --train train.conll --model chunker.structron",
    "structron train parser --train train.conllu --dev dev.conllu --pos xpos --model parser.structron",
)
"""Commands that make models which every page may use."""


@contextlib.contextmanager
def standard_output() -> Iterator[list[str]]:
    """What is printed, by this process, its libraries and its children, as the only item of a list."""
    found: list[str] = []
    sys.stdout.flush()
    path = Path(f"/tmp/structron-page-{os.getpid()}")
    kept, old = os.dup(1), sys.stdout
    with open(path, "w+b", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), encoding="utf-8")
        try:
            yield found
        finally:
            sys.stdout.flush()
            sys.stdout = old
            os.dup2(kept, 1)
            os.close(kept)
            found.append(path.read_text(encoding="utf-8"))
    path.unlink()


OUTPUTS = ("--output", "--output-dir", "--confusion", "--plot", "--html", ">")
"""What a command writes stands after these; what else it names is what it reads."""


def inputs(line: str) -> tuple[tuple[str, str], ...]:
    """The files and folders that a command reads, with what is in them."""
    words = [word.strip("\"'(),;|") for word in line.split()]
    written = (*OUTPUTS, "--model") if " train " in line else OUTPUTS
    read = [word for before, word in pairwise(words) if word and before not in written and Path(word).exists()]
    return tuple((word, digest(Path(word))) for word in read)


def digest(path: Path) -> str:
    found = hashlib.sha256()
    for own in [path] if path.is_file() else sorted(path.rglob("*")):
        found.update(f"{own}".encode() + (own.read_bytes() if own.is_file() else b""))
    return found.hexdigest()


def state() -> dict[Path, tuple[int, int]]:
    """The files of the present folder, each with what changes when it is written."""
    found = {path: path.stat() for path in Path().rglob("*") if path.is_file()}
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in found.items()}


def put(paths: Iterable[Path], source: Path, target: Path) -> None:
    for path in paths:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / path, target / path)


class Reader:
    """Runs pages as their reader would, each in a folder of its own; a command that was run gives what it gave.

    known: for a command and the files that it read, what it printed, and the folder with what it wrote.
    """

    def __init__(self, folder: Path, filled: bool = True):
        self.folder, self.base = folder, folder / "world"
        self.known: dict[Any, tuple[str, Path, list[Path]]] = {}
        self.base.mkdir()
        if not filled:
            return
        with contextlib.chdir(world(self.base)):
            for line in MODELS:
                self.once(line, line)
            for name in ("old", "new"):
                shutil.copy("chunker.structron", f"{name}.structron")

    def run(self, path: Path, bare: bool = False) -> list[tuple[Block, str]]:
        """Run the blocks of a page; returns them, with what each printed. bare: in an empty folder."""
        names: dict[str, Any] = {"__name__": "__main__"}
        ran = []
        own = Path(tempfile.mkdtemp(dir=self.folder)) / "page"
        own.mkdir() if bare else shutil.copytree(self.base, own)
        with contextlib.chdir(own):
            for block in blocks(path):
                if block.kind not in RUNS or block.reason is not None:
                    continue
                printed = self.program(block, names) if block.kind == "python" else self.commands(block)
                ran.append((block, printed))
                if block.output is not None:
                    assert fits(block.output, printed), f"{block} prints\n{printed}\nbut the page says\n{block.output}"
        return ran

    def program(self, block: Block, names: dict[str, Any]) -> str:
        """Run Python from a file, which Numba wants to see, with the lines of the page."""
        file = Path.cwd() / f"{block.page.replace('/', '-')}-{block.line}.py"
        file.write_text("\n" * block.line + block.text, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
        return out.getvalue()

    def commands(self, block: Block) -> str:
        printed = []
        for line in re.sub(r"\\\n\s*", " ", block.text).splitlines():
            if (command := re.sub(r"(^|\s+)# .*$", "", line).strip()) and not command.startswith("#"):
                printed.append(self.once(command, f"{block}: {command}"))
        return "".join(printed)

    def once(self, line: str, where: str) -> str:
        """What a command prints and writes; it runs if it has not run on the same files."""
        key = line, inputs(line)
        if key in self.known:
            printed, kept, written = self.known[key]
            put(written, kept, Path.cwd())
            return printed
        before, printed = state(), self.command(line, where)
        written = [path for path, found in state().items() if before.get(path) != found]
        kept = Path(tempfile.mkdtemp(dir=self.folder))
        put(written, Path.cwd(), kept)
        self.known[key] = printed, kept, written
        return printed

    def command(self, line: str, where: str) -> str:
        """Run a line: structron in this process, and what is before and after it in a shell."""
        match = COMMAND.match(line)
        if match is None:
            done = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{where}\n{done.stderr}"
            return done.stdout
        given = shlex.split(match["given"])
        stdin = sys.stdin
        if match["before"]:
            piped = subprocess.run(
                ["bash", "-ec", match["before"].rstrip("| ")], capture_output=True, check=True
            ).stdout
            sys.stdin = io.TextIOWrapper(io.BytesIO(piped), encoding="utf-8")
        err = io.StringIO()
        try:
            with standard_output() as found, contextlib.redirect_stderr(err):
                try:
                    status = main(given)
                except SystemExit as end:
                    status = end.code
        finally:
            sys.stdin = stdin
        assert status == 0, f"{where}\n{err.getvalue()}"
        if match["after"]:
            after = match["after"].strip()
            shell = f"cat {after}" if after.startswith(">") else after.removeprefix("|")
            done = subprocess.run(["bash", "-ec", shell], input=found[0], capture_output=True, text=True, check=True)
            return done.stdout
        return found[0]


def fits(said: str, printed: str) -> bool:
    """Whether a page says what was printed, but for … and white space at the ends of lines."""
    lines = [re.escape(line.rstrip()).replace("…", ".*") for line in said.rstrip().split("\n")]
    return (
        re.fullmatch(r"\n".join(lines), "\n".join(line.rstrip() for line in printed.rstrip().split("\n"))) is not None
    )
