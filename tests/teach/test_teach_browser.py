"""The page in a real browser: by keyboard alone, by touch alone, in two windows, after a restart of the server."""

import json
import os
import time
from pathlib import Path

import pytest
from projects import doc_for, gold, project

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

    def middle(self, element):
        box = element.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, source, target):
        """With the mouse."""
        self.page.mouse.move(*self.middle(source))
        self.page.mouse.down()
        self.page.mouse.move(*self.middle(target), steps=5)
        self.page.mouse.up()

    def swipe(self, source, target):
        """With a finger."""
        screen = self.context.new_cdp_session(self.page)
        (x, y), (to_x, to_y) = self.middle(source), self.middle(target)
        steps = [("Start", x, y), *(("Move", x + (to_x - x) * k / 5, y + (to_y - y) * k / 5) for k in range(1, 6))]
        for kind, own, other in steps:
            screen.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": [{"x": own, "y": other}]})
        screen.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        screen.detach()

    def word(self, k):
        return self.page.locator(".word").nth(k)

    def close(self):
        self.context.close()
        assert [error for error in self.errors if "status of 4" not in error] == []


@pytest.fixture
def made(tmp_path):
    return project(tmp_path / "p.teach", count=6)


def known_of(made):
    return {tuple(w["form"] for t in i.data["tokens"] for w in t["words"]): i.known for i in made.items("done = 1")}


@pytest.mark.parametrize(("task", "count"), [("entities", 6), ("chunker", 2)])
def test_a_session_by_keyboard_alone(task, count, browser, serve, tmp_path):
    made = project(tmp_path / "p.teach", task, count)
    right = {tuple(s.words): gold(task, s) for s in toy_english(count, seed=4)}
    window, labels = Window(browser, serve(made)), made.settings["labels"]
    press = window.page.keyboard.press
    for answered in range(count):
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
    window.settled(count - 1)
    assert len(known_of(made)) == count - 1
    window.close()


PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}


def test_a_session_by_touch_alone(browser, serve, made):
    """To the last sentence, and to the curve; taken back on the way."""
    window, first = Window(browser, serve(made), **PHONE), made.settings["labels"][0]

    def tap(name):
        window.page.get_by_role("button", name=name).tap()

    assert not window.page.locator(".curves").count()
    for answered in range(6):
        window.settled(answered)
        forms = window.forms()
        window.word(1).tap()
        tap("Extend right")
        window.page.locator(".palette .label").first.tap()
        tap("Accept")
        window.settled(answered + 1)
        found = known_of(made)[tuple(forms)]["labels"]
        assert found[1:3] == [f"B-{first}", f"I-{first}"]
        if answered == 2:
            tap("Undo")
            window.settled(2)
            assert window.forms() == forms
            assert len(known_of(made)) == 2
            tap("Accept")
            window.settled(3)
            assert known_of(made)[tuple(forms)]["labels"] == found
    assert window.page.locator(".curves").count() == 1
    assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    window.close()


def test_labels_are_found_by_their_letters(browser, serve, tmp_path):
    """All parts of speech by keyboard alone, though only nine have a digit; a new one is added with the same field."""
    made = project(tmp_path / "p.teach", "tagger", 1)
    made.set("labels", sorted({*made.settings["labels"], *"ABCDEFGHIJ", "XNNX"}))
    (toy,) = toy_english(1, seed=4)
    window = Window(browser, serve(made))
    press, typed = window.page.keyboard.press, window.page.keyboard.type
    assert len(made.settings["labels"]) > 15
    for tag in toy.pos:
        press("/")
        typed(tag.lower())
        press("Enter")
    assert window.page.locator(".word .tag").all_text_contents() == list(toy.pos)
    press("Home")
    press("/")
    typed("nn")
    assert "XNNX" in window.page.locator(".palette .label:visible").all_text_contents()[-1]
    assert window.page.locator(".palette .match").count() == 1
    assert window.page.locator(".palette .match").text_content().split()[-1].startswith("NN")
    press("Escape")
    assert window.page.locator(".palette .label:visible").count() == len(made.settings["labels"])
    press("n")
    typed("ZEBRA")
    assert window.page.locator(".found").text_content() == "Enter: add it"
    press("Enter")
    window.until(lambda: window.page.locator(".palette .label", has_text="ZEBRA").count())
    press("Enter")
    window.settled(1)
    assert next(iter(known_of(made).values())) == gold("tagger", toy)
    window.close()


def test_what_a_file_says_is_marked_and_stays(browser, serve, tmp_path):
    made, toy = project(tmp_path / "p.teach", "chunker", 1), toy_english(1, seed=8)[0]
    known = [label if k < 3 else None for k, label in enumerate(toy.chunks)]
    made.add("half", doc_for([toy]), [{"labels": known}])
    made.base.execute("UPDATE sentences SET done = 2 WHERE id = 1")
    window = Window(browser, serve(made))
    assert window.page.locator(".word.given .form").all_text_contents() == list(toy.words[:3])
    assert "labelled in the file" in window.page.locator(".from-file").text_content()
    window.word(1).click()
    window.page.keyboard.press("?")
    assert window.page.locator(".word.given").count() < 3
    window.page.keyboard.press("Enter")
    window.settled(1)
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


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
def test_arcs_are_pulled_from_a_word_to_its_head(touch, browser, serve, tmp_path):
    made = project(tmp_path / "t.teach", "parser", 1)
    window = Window(browser, serve(made), **PHONE if touch else {})
    pull, count = window.swipe if touch else window.drag, len(window.forms())
    pull(window.word(0), window.page.locator(".to-root" if touch else ".arcs"))
    for k in range(1, count):
        pull(window.word(k), window.word(0))
    assert window.page.locator(".arcs .arc").count() == count
    pull(window.word(0), window.word(2))  # the word that was below it takes its place
    pull(window.word(1), window.word(1))
    window.page.get_by_role("button", name="Accept").click()
    window.settled(1)
    (known,) = known_of(made).values()
    assert known["heads"] == [3, 1, 0, *[1] * (count - 3)]
    assert known["relations"][2] == "root"
    assert not window.page.locator(".pull, .target").count()
    window.close()


def test_arrows_follow_the_writing(browser, serve, made):
    made.add("hebrew", doc_of([TokenizedSentence(["שלום", "עולם", "טוב"])]))
    made.base.execute("UPDATE sentences SET done = 2 WHERE id < 7")
    window = Window(browser, serve(made))

    def chosen():
        return window.page.locator(".word.chosen .form").all_text_contents()

    assert window.word(0).bounding_box()["x"] > window.word(2).bounding_box()["x"]
    for key, wanted in (("Home", 0), ("ArrowLeft", 1), ("ArrowLeft", 2), ("ArrowRight", 1), ("End", 2)):
        window.page.keyboard.press(key)
        assert chosen() == [window.forms()[wanted]]
    window.page.keyboard.press("Shift+ArrowRight")
    assert chosen() == window.forms()[1:]
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


@pytest.mark.parametrize("task", ["entities", "parser"])
def test_axe_finds_nothing(task, browser, serve, tmp_path):
    """On a phone, a desk and a projector, light and dark."""
    if not AXE.exists():
        pytest.skip("no axe-core: npm install --no-save axe-core")
    made, toy = project(tmp_path / "p.teach", task, 1), toy_english(1, seed=8)
    half = {name: [value if k % 2 else None for k, value in enumerate(vs)] for name, vs in gold(task, toy[0]).items()}
    made.add("half", doc_for(toy), [half])
    made.base.execute("UPDATE sentences SET done = 2 WHERE id = 1")
    window = Window(browser, serve(made), bypass_csp=True)
    window.word(0).click()
    for key in ("1", "/", "e"):
        window.page.keyboard.press(key)
    window.page.add_script_tag(path=str(AXE))
    for scheme, width, height in (("light", 390, 800), ("dark", 390, 800), ("dark", 1280, 800), ("light", 1920, 1080)):
        window.page.emulate_media(color_scheme=scheme)
        window.page.set_viewport_size({"width": width, "height": height})
        found = json.loads(
            window.page.evaluate(
                "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa']})"
                ".then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.map((n) => n.html)])))"
            )
        )
        assert found == [], (scheme, width)
    window.close()
