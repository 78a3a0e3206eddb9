"""The page in a real browser: by keyboard alone, by touch alone, in two windows, after a restart of the server."""

import json
import os
import time
from pathlib import Path

import pytest
from projects import gold, project

from structron.data.toy_english import toy_english
from structron.io.tokenized import TokenizedSentence, doc_of
from structron.teach.project import Project

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(os.environ.get("STRUCTRON_AXE") or ROOT / "node_modules" / "axe-core" / "axe.min.js")
ATTACK = "<img src=x onerror=hacked=1>"


class Window:
    """A window of the browser on a project's page."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
        self.context.set_default_timeout(30_000)
        self.page, self.errors = self.context.new_page(), []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.goto(address)
        self.page.wait_for_selector(".word, .empty")

    def forms(self):
        return self.page.locator(".word .form").all_text_contents()

    def settled(self, answered):
        self.until(lambda: self.page.locator(".counts b").first.text_content() == str(answered))

    def until(self, condition, seconds=120.0):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.page.locator("main").inner_text()
            self.page.wait_for_timeout(20)

    def close(self):
        self.context.close()
        assert [error for error in self.errors if "status of 4" not in error] == []


@pytest.fixture
def made(tmp_path):
    return project(tmp_path / "p.teach", count=6)


def known_of(made):
    return {tuple(w["form"] for t in i.data["tokens"] for w in t["words"]): i.known for i in made.items("done = 1")}


def test_a_session_by_keyboard_alone(browser, serve, made):
    right = {tuple(s.words): gold("entities", s) for s in toy_english(6, seed=4)}
    window, labels = Window(browser, serve(made)), made.settings["labels"]
    press = window.page.keyboard.press
    for answered in range(6):
        window.settled(answered)
        forms = tuple(window.forms())
        press("Home")
        press("Shift+End")
        press("0")  # nothing is left of what was predicted
        wanted = right[forms]["labels"]
        for k, label in enumerate(wanted):
            if not label.startswith("B-"):
                continue
            last = k
            while last + 1 < len(wanted) and wanted[last + 1].startswith("I-"):
                last += 1
            press("Home")
            for _ in range(k):
                press("ArrowRight")
            for _ in range(last - k):
                press("Shift+ArrowRight")
            press(str(1 + labels.index(label[2:])))
        press("Enter")
    window.page.wait_for_selector(".empty")
    assert known_of(made) == right
    press("u")
    window.settled(5)
    assert len(known_of(made)) == 5
    window.close()


def test_a_session_by_touch_alone(browser, serve, made):
    window = Window(browser, serve(made), viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    forms = window.forms()
    window.page.locator(".word").nth(1).tap()
    window.page.get_by_role("button", name="Extend right").tap()
    window.page.locator(".palette .label").first.tap()
    window.page.get_by_role("button", name="Accept").tap()
    window.settled(1)
    first = made.settings["labels"][0]
    assert known_of(made)[tuple(forms)]["labels"][:3] == ["O", f"B-{first}", f"I-{first}"]
    window.page.get_by_role("button", name="Undo").tap()
    window.settled(0)
    assert window.forms() == forms
    assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    window.close()


def test_a_span_is_dragged_and_a_label_added(browser, serve, made):
    window = Window(browser, serve(made))
    boxes = [window.page.locator(".word").nth(k).bounding_box() for k in (0, 2)]
    mouse = window.page.mouse
    mouse.move(boxes[0]["x"] + 5, boxes[0]["y"] + 5)
    mouse.down()
    mouse.move(boxes[1]["x"] + 5, boxes[1]["y"] + 5, steps=6)
    mouse.up()
    assert window.page.locator(".word.chosen").count() == 3
    window.page.fill(".new-label input", "DISH")
    window.page.keyboard.press("Enter")
    window.page.locator(".palette .label", has_text="DISH").click()
    window.page.keyboard.press("Enter")
    window.settled(1)
    assert next(iter(known_of(made).values()))["labels"][:3] == ["B-DISH", "I-DISH", "I-DISH"]
    window.close()


def test_two_windows_are_asked_different_sentences_and_survive_a_restart(browser, serve, made):
    address = serve(made)
    first, second = Window(browser, address), Window(browser, address)
    assert first.forms() != second.forms()
    first.page.keyboard.press("Enter")
    first.settled(1)
    first.close()
    second.close()
    again = Project(made.path)
    third = Window(browser, serve(again))
    third.page.keyboard.press("u")
    third.settled(0)
    third.close()


def test_trees_are_made_with_keys(browser, serve, tmp_path):
    made = project(tmp_path / "t.teach", "parser", 3)
    window = Window(browser, serve(made))
    press, count = window.page.keyboard.press, len(window.forms())
    press("Home")
    press("r")
    for k in range(1, count):
        press("ArrowRight")
        press("h")
        for _ in range(k):
            press("ArrowLeft")
        press("Enter")
        press("1")
    press("Enter")
    window.settled(1)
    (known,) = known_of(made).values()
    assert known["heads"] == [0, *[1] * (count - 1)]
    assert known["relations"] == ["root", *[made.settings["labels"][0]] * (count - 1)]
    window.close()


def test_hostile_words_and_writing_from_right_to_left(browser, serve, made):
    words = [ATTACK, "שלום", "עולם", "e\u0301te\u0301", "&amp;"]
    made.add("hostile", doc_of([TokenizedSentence(words)]))
    with made.saving() as base:
        base.execute("UPDATE sentences SET rank = -1 WHERE id = 7")
        base.execute("UPDATE sentences SET done = 2 WHERE id < 7")
    made.set("labels", [ATTACK.replace(" ", ""), *made.settings["labels"]])
    window = Window(browser, serve(made))
    assert window.forms() == words
    window.page.keyboard.press("1")
    assert window.page.evaluate("typeof hacked") == "undefined"
    window.page.keyboard.press("Enter")
    window.settled(1)
    window.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme, browser, serve, made):
    if not AXE.exists():
        pytest.skip("no axe-core: npm install --no-save axe-core")
    window = Window(browser, serve(made), color_scheme=scheme, bypass_csp=True)
    window.page.keyboard.press("1")
    window.page.add_script_tag(path=str(AXE))
    found = json.loads(
        window.page.evaluate(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa']})"
            ".then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.map((n) => n.html)])))"
        )
    )
    assert found == []
    window.close()
