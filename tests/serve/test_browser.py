"""The page in a real browser: what its views show, addresses of their states, keys, attacks, accessibility."""

import copy
import json
import os
import re
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from serving import ATTACK, HOSTILE, listening

from estimators import weights_of
from structron.data.toy_english import toy_english
from structron.runtime.progress import lock
from structron.serve.app import make_app
from structron.serve.library import Library
from structron.serve.limits import Limits

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(os.environ.get("STRUCTRON_AXE") or ROOT / "node_modules" / "axe-core" / "axe.min.js")
VIEWS = ("annotate", "beam", "model", "training", "compare")
TAGGED = "The\tDT\nold\tJJ\nman\tVBP\nthe\tDT\nboat\tNN\n"


class Page:
    """A page of the browser that remembers what it asked for and what went wrong on it."""

    def __init__(self, page, address: str):
        self.page, self.address = page, address
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))

    def open(self, view: str, wait: str, **state: str) -> None:
        """Load the page with a view in a state, and wait for something on it: nothing is left of an earlier state."""
        self.page.goto("about:blank")
        given = "&".join(f"{name}={quote(value)}" for name, value in state.items())
        self.page.goto(f"{self.address}/#{view}{'?' if given else ''}{given}")
        self.page.wait_for_selector(wait)

    def until(self, condition: str, seconds: float = 60.0) -> None:
        """Wait until something is so; a page's policy forbids Playwright's own way, which makes code of texts."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(50)

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_text_contents()

    def state(self) -> str:
        return self.page.evaluate("decodeURIComponent(location.hash)")


@pytest.fixture
def page(browser, address):
    context = browser.new_context(viewport={"width": 1366, "height": 800})
    context.set_default_timeout(60_000)
    found = Page(context.new_page(), address)
    yield found
    foreign = [url for url in found.requests if not url.startswith((address, "data:"))]
    context.close()
    assert foreign == []
    assert [error for error in found.errors if "status of 4" not in error] == []


def test_annotate_draws_what_the_model_finds(page, library):
    text = "He flew to Paris."
    page.open("annotate", ".tree .word", text=text)
    doc = library.models["english"].estimator(text)
    assert page.texts(".tree .form") == [word.form for word in doc.words]
    assert page.texts(".tree .tag") == [word.upos for word in doc.words]
    assert sorted(page.texts(".tree .relation")) == sorted(word.deprel for word in doc.words)
    assert page.texts(".entity .label") == [entity.label for entity in doc.entities]
    page.page.uncheck("text=Trees")
    assert page.texts(".tree .relation") == []
    assert "hide=lemmas,tree" in page.state()
    page.page.check("text=Lemmas")
    assert page.texts(".tree .lemma") == [word.lemma for word in doc.words]


def test_a_view_is_busy_until_the_newest_question_is_answered(page):
    page.open("annotate", ".tree .word")
    held = []
    page.page.route("**/api/annotate", lambda route: held.append(route))
    output = "document.querySelector('.output')"
    for number, text in enumerate(("He slept.", "She flew."), 1):
        page.page.fill("textarea", text)
        page.page.keyboard.press("Control+Enter")
        while len(held) < number:
            page.page.wait_for_timeout(20)
    page.page.wait_for_timeout(100)  # the first question is given up by now
    assert page.page.evaluate(f"{output}.ariaBusy") == "true"
    held[1].continue_()
    page.until(f"{output}.ariaBusy === 'false'")
    assert page.texts(".tree .form") == ["She", "flew", "."]


def test_pointing_at_a_word_tells_why(page, library):
    page.open("annotate", ".tree .word", text="He flew to Paris.")
    page.page.hover('.word[data-word="3"]')
    page.page.wait_for_selector(".why .bars li")
    assert page.texts(".why h2") == ["Paris"]
    assert "PROPN NNP" in page.page.inner_text(".why")
    page.until("document.querySelectorAll('.why .waiting').length === 0")
    assert page.page.locator(".why .value.for").count() > 0
    assert page.page.locator(".why .value.against").count() > 0
    page.page.focus('.word[data-word="0"]')
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("Enter")
    page.until("document.querySelector('.why h2').textContent === 'flew'")


def test_analyses_are_copied_as_conllu_json_and_svg(page, library):
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.open("annotate", ".tree .word", text="He slept.")
    read = "navigator.clipboard.readText()"
    for kind in ("CoNLL-U", "JSON", "SVG"):
        page.page.click(f"text={kind}")
        page.until(f"document.getElementById('status').textContent === '{kind} copied'")
        found = page.page.evaluate(read)
        if kind == "CoNLL-U":
            assert found == library.models["english"].estimator("He slept.").to_conllu()
        elif kind == "JSON":
            assert json.loads(found)["sentences"][0]["text"] == "He slept."
        else:
            assert found.startswith("<svg")
            assert "slept" in found
            assert "class=" not in found


def test_texts_are_opened_and_analyses_saved(page, library, tmp_path):
    page.open("annotate", ".tree .word")
    (tmp_path / "own.txt").write_text("She slept.")
    page.page.set_input_files("input[type=file]", tmp_path / "own.txt")
    page.until("document.querySelector('.tree .form').textContent === 'She'")
    with page.page.expect_download() as waiting:
        page.page.click("[aria-label=Save] >> text=CoNLL-U")
    assert waiting.value.suggested_filename == "analysis.conllu"
    assert Path(waiting.value.path()).read_text() == library.models["english"].estimator("She slept.").to_conllu()


def test_a_model_that_the_server_takes_is_loaded(browser, library, folder):
    app = make_app(Library(models={"one": library.models["one"]}), Limits(model=10**7))
    with listening(app) as (port, _):
        context = browser.new_context()
        page = Page(context.new_page(), f"http://127.0.0.1:{port}")
        page.open("model", ".features .bars li")
        page.page.set_input_files("input[type=file]", folder / "two.structron")
        page.until("document.querySelector('.facts-list dd:nth-of-type(1)') && location.hash.includes('model=two')")
        assert page.page.locator("main select option").all_text_contents() == ["one (tagger)", "two (tagger)"]
        assert page.errors == []
        context.close()


def test_the_beam_view_shows_the_engines_trace(page, library):
    page.open("beam", ".states tbody tr", model="beam", text=TAGGED, beam="2")
    rows = [line.split("\t") for line in TAGGED.splitlines()]
    trace = library.models["beam"].estimator.trace(rows, True, beam=2)
    slider = page.page.get_by_label("Step of the search")
    assert int(slider.get_attribute("max")) == len(trace.steps) - 1
    page.page.keyboard.press("Home")
    for step in trace.steps:
        assert f"step={step.step}" in page.state()
        shown = page.page.locator(".states tbody tr:not(.off)")
        assert shown.count() == len(step.states)
        assert [text or "start" for text in (state.action for state in step.states)] == page.texts(
            ".states tbody tr:not(.off) .action"
        )
        scores = page.texts(".states tbody tr:not(.off) .score")
        assert [float(text.replace(",", "")) for text in scores] == [
            pytest.approx(state.score, abs=0.06) for state in step.states
        ]
        golds = [k for k, state in enumerate(step.states) if state.gold]
        marked = page.page.locator(".states tbody tr.gold:not(.off) .rank").all_text_contents()
        assert [int(text) - 1 for text in marked] == golds
        assert page.page.locator(".states tr.off").count() == (step.gold_rank is None)
        page.page.keyboard.press("ArrowRight")
    for name, updates in trace.rules.items():
        page.page.click(f'.rule[data-rule="{name}"]')
        text = page.page.inner_text(f'.rule[data-rule="{name}"]')
        if updates:
            assert ", ".join(str(update.step) for update in updates) in text
            assert page.texts(".changes .name")[0] == updates[0].features[0].name
        else:
            assert "no update" in text


@pytest.mark.parametrize("model", ["beam", "arcs"])
def test_the_beam_view_shows_the_updates_that_training_makes(page, library, model):
    """For every rule: how many weights a pass over the sentence changes, which of them, and by how much."""
    estimator = copy.deepcopy(library.models[model].estimator)
    corpus = toy_english(160, seed=5)[120:]
    rows = [
        list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True))
        if model == "arcs"
        else list(zip(s.words, s.pos, strict=True))
        for s in corpus
    ]
    guesses, golds = estimator.predict(rows), estimator._gold(rows)
    wrong = [row for row, guess, gold in zip(rows, guesses, golds, strict=True) if guess != gold]
    sentence = min(wrong, key=len)
    text = "".join("\t".join(row) + "\n" for row in sentence)
    page.open("beam", ".states tbody tr", model=model, text=text, beam="2")
    before, seen = weights_of(estimator), 0
    for rule in page.page.locator(".rule").all():
        name = rule.get_attribute("data-rule")
        other = copy.deepcopy(estimator).set_params(update=name, average="none", passes=1)
        other.partial_fit([sentence])
        after = weights_of(other)
        change = {key: after.get(key, 0.0) - before.get(key, 0.0) for key in {*after, *before}}
        change = {key: amount for key, amount in change.items() if abs(amount) > 1e-4}
        rule.click()
        if not change:
            assert "no update" in rule.inner_text()
            continue
        tables = page.page.locator(".changes")
        if tables.count() > 1:  # LaSO goes on from gold: the changes of its updates add up
            assert name == "laso"
            continue
        seen += 1
        said = re.search(r"([\d,]+) weights change", page.page.inner_text("main"))
        assert said
        assert int(said[1].replace(",", "")) == len(change)
        if (more := page.page.get_by_role("button", name=re.compile("Show .* more"))).count():
            more.click()
        shown = [row.split("\t") for row in tables.inner_text().splitlines()[1:]]
        assert len(shown) == min(len(change), 200)
        for feature, action, amount, weight in shown:
            assert float(amount.replace("\u2212", "-")) == pytest.approx(change.pop((feature, action)), abs=0.006)
            assert float(weight.replace("\u2212", "-")) == pytest.approx(before.get((feature, action), 0.0), abs=0.06)
    assert seen >= 4
    assert page.page.locator(".rule").count() == 6


def test_every_state_of_the_beam_has_an_address(page):
    page.open("beam", ".states tbody tr", model="beam", text=TAGGED, step="3", rule="early")
    assert page.texts(".verdict strong") == ["Step 3 of 5"]
    assert page.texts('.rule[aria-pressed="true"] strong') == ["early"]
    page.page.keyboard.press("ArrowLeft")
    assert "step=2" in page.state()
    address = page.page.url
    page.page.goto("about:blank")
    page.page.goto(address)
    page.page.wait_for_selector(".states tbody tr")
    assert page.texts(".verdict strong") == ["Step 2 of 5"]
    page.page.evaluate("location.hash = '#annotate'")
    page.page.wait_for_selector(".tree .word")
    page.page.go_back()
    page.page.wait_for_selector(".states tbody tr")
    assert page.texts(".verdict strong") == ["Step 2 of 5"]


def test_the_beam_view_begins_with_a_garden_path(page):
    page.open("beam", ".lattice .fell", model="english/parser")
    assert "falls off the beam here" in page.page.inner_text(".verdict")
    assert page.page.locator(".chart .choice").count() >= 2
    assert page.page.locator(".pair-grid .tree").count() == 2


def test_the_beam_view_tells_merged_from_fallen_off(page):
    page.open("beam", ".lattice .dot.gold.lost", model="english/parser", example="4")
    asked = page.page.evaluate(
        "fetch('/api/beam', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({"
        "model: 'english', part: 'parser', beam: 4, sentence: document.querySelector('textarea').value})})"
        ".then((answer) => answer.json())"
    )
    merged = {step["step"]: step["merged_rank"] for step in asked["steps"] if step["merged_rank"]}
    assert asked["fell_off"] in merged
    page.page.keyboard.press("Home")
    for step in asked["steps"]:
        said = page.page.inner_text(".verdict")
        if step["step"] in merged:
            assert f"gold is merged with number {merged[step['step']]}" in said
            assert page.texts(".states tr.merged:not(.off) .rank") == [str(merged[step["step"]])]
        else:
            assert "merged" not in said
        fallen = [one["step"] for one in asked["steps"] if one["gold"] is not None and one["gold_rank"] is None]
        fallen = [one for one in fallen if one not in merged]
        assert ("falls off" in said) == (fallen[:1] == [step["step"]])
        page.page.keyboard.press("ArrowRight")
    assert len(page.texts(".lattice .fell")) == bool(fallen)


def test_the_default_sentence_is_drawn_whole(browser, address):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{address}/#annotate")
    page.wait_for_selector(".tree .word")
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every((own) => own.scrollWidth <= own.clientWidth)")
    context.close()


def test_a_comparison_fits_a_phone(browser, address):
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto(f"{address}/#compare?a=one&b=two&data=test")
    page.wait_for_selector(".difference")
    for part in ("html", "nav", ".scroll:has(.scores)"):
        own = f"document.querySelector('{part}')"
        assert page.evaluate(f"{own}.scrollWidth <= {own}.clientWidth"), part
    script = """(row) => [...document.querySelector(".difference .aligned").rows[row].cells].map((own) =>
        Math.round(own.getBoundingClientRect().left))"""
    assert page.evaluate(script, 0) == page.evaluate(script, 1)  # every word stands above its labels
    context.close()


def test_features_can_be_read_on_a_phone(browser, address):
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto(f"{address}/#model?model=chunker")
    page.wait_for_selector(".features .bars .names")
    assert page.evaluate("document.querySelector('.features .names').getBoundingClientRect().width") > 200
    context.close()


def test_labels_of_charts_can_be_read_from_afar(browser, address):
    context = browser.new_context(viewport={"width": 1920, "height": 1080})
    page = context.new_page()
    page.goto(f"{address}/#training?log=train")
    page.wait_for_selector(".curves .tick")
    heights = page.evaluate(
        "[...document.querySelectorAll('.curves .tick')].map((o) => o.getBoundingClientRect().height)"
    )
    assert min(heights) >= 16
    context.close()


def test_a_model_is_looked_into(page, library):
    page.open("model", ".features .bars li", model="chunker")
    part = library.models["chunker"].estimator
    assert page.texts(".labels .list button") == list(part.model_.labels)
    label = part.model_.labels[1]
    page.page.click(f".labels .list button >> text={label}")
    page.until(f"document.querySelector('.features h2').textContent.endsWith('{label}')")
    page.page.wait_for_selector('.features[aria-busy="false"]')
    weights = page.texts(".features .bars li > .value")
    assert len(set(weights)) == len(weights)
    heaviest = part.inspect(label, top=1).labels[label][0].feature
    page.page.wait_for_selector(".features .bars .name")
    assert page.texts(".features .bars .name")[0] == heaviest
    page.page.fill(".features input", "pos[0]")
    page.until(
        "[...document.querySelectorAll('.features .bars .name')].every((own) => own.textContent.includes('pos[0]'))"
    )
    assert "search=pos[0]" in page.state()
    assert "Dev accuracy" not in page.texts(".chart figcaption")
    page.page.goto(f"{page.address}/#model?model=beam")
    page.until("[...document.querySelectorAll('.chart figcaption')].some((own) => own.textContent === 'Dev accuracy')")


def test_a_training_is_watched_while_it_writes(page, folder):
    page.open("training", ".live", log="later")
    page.until("document.querySelector('.live').textContent.startsWith('Waiting')")
    log = folder / "later.log"
    try:
        with log.open("w") as out:
            lock(out.fileno())
            for number in (1, 2):
                out.write(json.dumps({"pass": number, "updates": 9, "dev": 80.0 + number, "examples": 4}) + "\n")
                out.flush()
                page.until(f"document.querySelectorAll('.curve.good circle').length === {number}")
            page.until("document.querySelector('.live').textContent === 'Live · 2 passes'")
        page.until("document.querySelector('.live').textContent === 'Ended · 2 passes'")
    finally:
        log.unlink()


def test_two_models_are_compared(page, library):
    page.open("compare", ".difference", a="one", b="two", data="test")
    assert "two" in page.page.inner_text(".headline")
    assert "paired bootstrap" in page.page.inner_text(".headline")
    assert page.page.locator(".difference td.differs").count() > 0
    page.page.select_option(".field:has(> span:text-is('B')) select", "beam")
    page.until("document.querySelector('.scores th:nth-child(3)')?.textContent === 'beam'")
    assert "b=beam" in page.state()


def test_nothing_that_others_wrote_is_executed(page, library):
    """Script in text, in labels, in the names of files and models, in addresses."""
    page.open("annotate", ".tree .word", text=f"{ATTACK} <script>hacked=1</script> javascript:hacked=1 &lt;b&gt;")
    page.page.hover('.word[data-word="0"]')
    page.page.wait_for_selector(".why .bars li")
    hostile = library.models[HOSTILE].estimator
    words = next(s.words for s in toy_english(99, seed=5) if ATTACK in hostile.predict([s.words])[0])
    page.open("annotate", ".tree .word", text=" ".join(words), model=HOSTILE)
    page.until(f"[...document.querySelectorAll('.tree .tag')].some(tag => tag.textContent.includes({ATTACK!r}))")
    page.open("model", ".features .bars li", model=HOSTILE, label=ATTACK)
    assert any(ATTACK in text for text in page.texts(".labels button"))
    page.open("beam", ".states tbody tr", model=HOSTILE, text=f"The\tDT\n<b>dog\t{ATTACK}\n")
    page.open("beam", ".mistake, .states", model=HOSTILE, file=HOSTILE, n="1")
    page.open("compare", ".mistake, .difference, .empty", a=HOSTILE, b="one", data="test")
    page.open("training", ".live", log='"><script>hacked=1</script>')
    page.page.goto(f"{page.address}/#<img src=x onerror=hacked=1>")
    page.page.wait_for_selector(".tree .word")
    assert page.page.evaluate("typeof hacked") == "undefined"
    assert page.page.locator("main script, main img, main b:not(.good):not(.gold):not(.bad)").count() == 0


def test_mistakes_are_shown_as_text(page):
    page.open("annotate", ".mistake", model="chunker", text="dog cat/NN")
    assert "word/pos" in page.page.inner_text(".mistake")


@pytest.mark.parametrize(
    ("view", "width", "height"), [*((view, 360, 740) for view in VIEWS), ("annotate", 1920, 1080), ("beam", 1920, 1080)]
)
def test_pages_fit_their_screen_without_scrolling_sideways(browser, address, view, width, height):
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(f"{address}/#{view}{'?model=beam' if view == 'beam' else ''}")
    page.wait_for_selector("main > *:nth-child(2)")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    size = float(re.match(r"[\d.]+", page.evaluate("getComputedStyle(document.documentElement).fontSize"))[0])
    assert size >= (18 if width > 1900 else 15)
    context.close()


READY = {
    "annotate": ".tree .word",
    "beam": ".states tbody tr",
    "model": ".features .bars li",
    "training": ".chart",
    "compare": ".difference",
    "docs": ".call",
}


@pytest.mark.skipif(not AXE.exists(), reason=f"no axe-core in {AXE}: npm install --no-save axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", [*VIEWS, "docs"])
def test_no_view_has_a_serious_violation_of_accessibility(browser, address, view, scheme):
    context = browser.new_context(viewport={"width": 1366, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    watched = "english/parser" if scheme == "light" else "beam"
    state = {"compare": "?a=one&b=two&data=test", "model": "?model=beam", "beam": f"?model={watched}"}.get(view, "")
    page.goto(f"{address}/docs" if view == "docs" else f"{address}/#{view}{state}")
    page.wait_for_selector(READY[view])
    if view == "annotate":
        page.hover('.word[data-word="1"]')
        Page(page, address).until(
            "!!document.querySelector('.why .bars li') && !document.querySelector('.why .waiting')"
        )
    if view == "docs":
        page.evaluate("document.querySelectorAll('details').forEach((own) => { own.open = true; })")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    serious = [
        (own["id"], own["nodes"][0]["html"][:200], own["nodes"][0]["failureSummary"][:300])
        for own in found["violations"]
        if own["impact"] in ("serious", "critical")
    ]
    context.close()
    assert serious == []
