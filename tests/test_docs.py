"""Every block of code and every command in the documentation runs, or says why not; pictures are up to date."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import nbformat
import pytest

import structron
from helpers import ROOT
from notebooks import FOLDER, NOTEBOOKS, notebook
from pages import KINDS, PAGES, Reader, blocks, fits, kind_of

NAMES = [str(path.relative_to(ROOT)) for path in PAGES]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """One for all pages; updates are not checked, as they are elsewhere in the tests: a reader does not either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRUCTRON_CHECK", "0")
        yield Reader(tmp_path_factory.mktemp("pages"))


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_every_block_says_what_it_is(path):
    for block in blocks(path):
        assert block.kind in KINDS or block.reason, (
            f"{block}: {block.kind!r}; expected one of {KINDS}, or why it cannot run"
        )
        assert block.reason is None or len(block.reason.split()) >= 3, f"{block}: a reason in a few words"


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path)], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_does_what_it_says(path, reader):
    wanted = [block for block in blocks(path) if block.kind in ("python", "sh") and block.reason is None]
    assert [block for block, _ in reader.run(path, bare=path in NOTEBOOKS.values())] == wanted


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_its_page(name):
    """Its cells are the blocks that were run above; what they printed stands below them."""
    kept = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    nbformat.validate(kept)
    made = notebook(NOTEBOOKS[name], {})
    assert [cell["source"] for cell in kept["cells"]] == [cell["source"] for cell in made["cells"]], (
        "the page has changed: python tools/notebooks.py"
    )
    printed = ["".join(out["text"]) for cell in kept["cells"] for out in cell.get("outputs", ())]
    said = [block.output for block in blocks(NOTEBOOKS[name]) if block.output is not None and block.reason is None]
    assert all(any(fits(own, out) for out in printed) for own in said)


def test_the_version_is_the_same_everywhere():
    """Release notes and citation name it, and the files of the one before are kept (tests/models)."""
    version = structron.__version__
    released = re.search(
        rf"^## {re.escape(version)} - (\d{{4}}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert released
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {version}\n" in citation
    assert f"\ndate-released: {released[1]}\n" in citation
    assert f">{version}</text>" in (ROOT / "docs" / "assets" / "badge-version.svg").read_text()
    assert f"![version {version}]" in (ROOT / "README.md").read_text()


def test_the_licences_are_the_same_everywhere():
    """That of the code, of the English model, and of the clusters in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0 AND CC-BY-SA-4.0 AND MIT"
    texts = ("Apache License", "Attribution-ShareAlike 4.0 International", "MIT License")
    found = "".join((ROOT / file).read_text(encoding="utf-8") for file in project["license-files"])
    assert all(text in found for text in texts)
    assert "\nlicense: Apache-2.0 " in (ROOT / "CITATION.cff").read_text()  # a list there means that one may choose
    last = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[-1]
    assert all(name in last for name in ("Apache-2.0", "CC BY-SA 4.0", "MIT"))


def test_the_documentation_is_short():
    """Words outside tables; all words of the first page."""
    others = [ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")]
    lines = (line for path in (*PAGES, *others) for line in path.read_text(encoding="utf-8").splitlines())
    assert sum(len(line.split()) for line in lines if not line.startswith("|")) <= 40_000
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_outputs_are_compared():
    assert fits("F1 9…\nend", "F1 97.76   \nend\n")
    assert not fits("F1 9…", "F1 87.76")
    assert not fits("one\ntwo", "one")


def test_blocks_of_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr("pages.ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text(
        "Text\n\n    indented\n\n- list\n\n    part of it\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
        "<!-- not run: needs a cluster of machines -->\n```sh\nray start\n```\n\n<!-- setup\nx = 1\n-->\n\n"
        "```text\nx\n```\n"
    )
    found = blocks(page)
    assert [(block.kind, block.output, block.reason) for block in found] == [
        ("text", None, None),
        ("python", "1\n", None),
        ("text", None, None),
        ("sh", None, "needs a cluster of machines"),
        ("python", None, None),
        ("text", None, None),
    ]
    assert found[4].text == "x = 1\n"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("structron train tagger\n", "sh"),
        ("echo x | structron annotate\n", "sh"),
        ("model.fit(x)\nmodel.save(y)\n", "python"),
        ("model = Tagger().fit([…])\n", "code"),
        ("w[0]\nw[-1]|w[0]\n", "text"),
        ("file ──io──▶ rows\n", "text"),
    ],
)
def test_what_an_indented_block_is(body, kind):
    assert kind_of(body) == kind


def test_a_page_that_is_wrong_fails(tmp_path, monkeypatch, reader):
    monkeypatch.setattr("pages.ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match=r"a\.md:1 prints\n1"):
        reader.run(page)
    page.write_text("```sh\nstructron evaluate nowhere.structron test.conll\n```\n")
    with pytest.raises(AssertionError, match="no such file or bundled model"):
        reader.run(page)


def test_pictures_are_up_to_date(tmp_path):
    """`python docs/concepts/pictures.py` draws them again."""
    folder = ROOT / "docs" / "concepts"
    subprocess.run([sys.executable, str(folder / "pictures.py"), str(tmp_path)], check=True)
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.svg")}
    assert drawn == {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
    used = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.md"))
    assert all(f"({name})" in used for name in drawn)


def test_the_site_knows_the_pages_of_its_folders():
    """A page by itself may wait for its place; a how-to page that nobody finds is of no use."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    lines = [line for line in nav.splitlines() if not line.strip().startswith("#")]
    listed = {name for line in lines for name in re.findall(r"\S+\.md", line)}
    folders = ("howto", "cookbook", "concepts", "reference")
    there = {str(path.relative_to(ROOT / "docs")) for path in PAGES[1:] if path.parent.name in folders}
    assert there - listed == set()
    assert {name for name in listed if not (ROOT / "docs" / name).exists()} == set()


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert (ROOT / "docs/assets/icon.svg").read_bytes() == (ROOT / "src/structron/serve/static/icon.svg").read_bytes()
    folder = tmp_path / "site" / "reference"
    pages = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.html")}
    every = "".join(pages.values())
    assert [name for name in structron.__all__ if f'id="structron.{name}"' not in every] == ["__version__"]
    assert not re.findall(r'id="structron\.\w+\.(closed|needed_|python_only|is_cold|usual_columns)"', every)
    tagger = pages["tagger"].partition("Options of <code>Tagger</code>")[2]
    assert re.search(r"<code>runs</code></td>\s*<td><code>4</code></td>\s*<td>Mean of N runs", tagger)
