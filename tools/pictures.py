"""Makes the pictures of the two web pages in docs/pictures anew: `python tools/pictures.py [FOLDER]`.

`structron serve` without files, and `structron teach` on the recipes of examples/recipes.py and on a few sentences
for the parser, in Chromium. With --all every view on a phone, a tablet, a laptop and a projector, light and dark.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples"))

from recipes import recipes  # noqa: E402

WIDTHS = {"phone": (360, 740), "tablet": (768, 1024), "laptop": (1280, 800), "projector": (1920, 1080)}
TEXT = "Dr. Smith didn't sleep. He flew to Paris on Monday."
VIEWS = {
    "annotate": (
        f"annotate?text={quote(TEXT)}",
        ".tree .word",
        760,
    ),
    "beam": ("beam?model=english%2Fparser&step=4", ".lattice", 1500),
    "model": ("model?model=english%2Fparser", ".bars li", 760),
    "training": ("training", ".curves", 620),
    "compare": ("compare", ".scores", 800),
}
TREES = "The old man the boat.\nShe left for Paris with a heavy bag.\nNobody knows why it works.\n"


@contextmanager
def server(*arguments: str) -> Iterator[str]:
    """A command that serves a page; gives the address."""
    command = [sys.executable, "-m", "structron", *arguments, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))
        finally:
            process.terminate()


def shoot(page: Page, path: Path, high: int | None = None) -> None:
    """A picture of the page, or of its upper part."""
    page.wait_for_timeout(300)
    width = (page.viewport_size or {})["width"]
    clip: Any = None if high is None else {"x": 0, "y": 0, "width": width, "height": high}
    page.screenshot(path=path, full_page=True, clip=clip)
    print(path)


def view(page: Page, address: str, name: str) -> None:
    """Open a view; in Annotate point at a word, as the picture shows what is behind it."""
    place, wait, _ = VIEWS[name]
    page.goto("about:blank")
    page.goto(f"{address}/#{place}")
    page.wait_for_selector(wait, timeout=120_000)
    if name == "annotate":
        page.locator(".tree .word").filter(has_text="flew").first.click()
        page.wait_for_selector(".decision .bars")


def answer(page: Page, count: int) -> None:
    """Answer as somebody does who knows every recipe."""
    right = {" ".join(word for word, _ in rows): [label for _, label in rows] for rows in recipes(400)}
    for _ in range(count):
        script = """async (right) => {
            const ask = async (name, more) => (await fetch(`/api/teach/${name}`, { method: "POST", body: JSON.stringify(
                { window: "picture", who: "me", ...more }), headers: { "content-type": "application/json" } })).json();
            const { item } = await ask("ask");
            const labels = right[item.words.map((word) => word.form).join(" ")];
            await ask("answer", labels && { sentence: item.sentence, known: { labels }, predicted: item.predicted }
                || { sentence: item.sentence });
            const learning = async () => (await (await fetch("/api/teach/status")).json()).learning;
            while (await learning()) await new Promise((done) => setTimeout(done, 20)); // people take longer
        }"""
        page.evaluate(script, right)


def teach(browser: Any, folder: Path, work: Path) -> None:
    """The page of `structron teach`: a first sentence, one after 60 answers, a tree."""
    texts, trees = work / "recipes.txt", work / "new.txt"
    rows = recipes(400)
    texts.write_text("".join("".join(f"{word}\n" for word, _ in own) + "\n" for own in rows), encoding="utf-8")
    trees.write_text(TREES, encoding="utf-8")
    columns = texts.rename(texts.with_suffix(".conll"))
    dishes = (str(work / "dishes.teach"), "--texts", str(columns), "--task", "entities", "--labels", "DISH")
    with server("teach", *dishes) as address:
        page = browser.new_page(viewport={"width": 1000, "height": 420})
        page.goto(address)
        page.wait_for_selector(".word")
        shoot(page, folder / "teach-first.png", 380)
        answer(page, 60)
        page.reload()
        page.wait_for_selector(".word.labelled", timeout=60_000)
        shoot(page, folder / "teach-later.png", 620)
        phone = browser.new_page(viewport={"width": 360, "height": 640}, has_touch=True, device_scale_factor=2)
        phone.goto(address)
        phone.wait_for_selector(".word")
        shoot(phone, folder / "teach-phone.png", 640)
    with server(
        "teach", str(work / "trees.teach"), "--texts", str(trees), "--task", "parser", "--start", "english"
    ) as address:
        page = browser.new_page(viewport={"width": 1000, "height": 520})
        page.goto(address)
        page.wait_for_selector(".arcs .arc", timeout=120_000)
        shoot(page, folder / "teach-tree.png", 520)


def everything(browser: Any, folder: Path) -> None:
    """Every view at every width, light and dark."""
    with server("serve") as address:
        for name, (width, high) in WIDTHS.items():
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": high}, color_scheme=scheme)
                for own in VIEWS:
                    view(page, address, own)
                    shoot(page, folder / f"{own}-{name}-{scheme}.png")
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    assert wide <= width, f"{own}: {wide} pixels wide on a {name} of {width}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--all", action="store_true", help="every view at every width, light and dark")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as work:
        program = os.environ.get("STRUCTRON_CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        if given.all:
            everything(browser, given.folder)
        else:
            with server("serve") as address:
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                for name, (_, _, high) in VIEWS.items():
                    view(page, address, name)
                    shoot(page, given.folder / f"page-{name}.png", high)
        teach(browser, given.folder, Path(work))
        browser.close()


if __name__ == "__main__":
    main()
