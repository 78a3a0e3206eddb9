"""Figures: well formed, nothing in them that runs or is loaded, and what they show is what was given."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

import structron
from docs import conllu
from structron import Chunker, Parser
from structron.eval.scores import Confusion
from structron.io.doc import Doc
from structron.learn.loop import History
from structron.show.charts import beam_html, beam_svg, confusion_svg, history_svg, model_html
from toy import chunk_rows, tree_rows

EVIL = "<script>alert(1)</script>\"'&\x00"
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


class Seen(HTMLParser):
    """The tags and addresses of a piece of HTML."""

    def __init__(self, html: str):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def assert_harmless(html: str) -> None:
    seen = Seen(html)
    assert not {"script", "img", "link", "iframe", "object"} & set(seen.tags)
    assert not {name for name in seen.attributes if name.startswith("on") or name in ("href", "src")}
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")


def trace_of(word: str = "a", label: str = "L", feature: str = "f") -> dict:
    """A trace as JSON holds it."""
    state = {"score": 1.0, "action": label, "gold": False, "parent": 0, "labels": [label]}
    good = state | {"score": 0.5, "gold": True, "labels": ["G"]}
    start = {"step": 0, "states": [good], "best": 0.0, "gold": 0.0, "gold_rank": 1, "gold_state": good}
    step = {"step": 1, "states": [state], "best": 1.0, "gold": 0.5, "gold_rank": None, "gold_state": good}
    changes = [{"name": feature, "action": label, "change": -1.0, "weight": 2.5}]
    update = {"step": 1, "violation": True, "difference": -0.5, "features": changes}
    none = {"step": None, "violation": False, "difference": None, "features": [], "updates": []}
    rules = {"early": update | {"updates": [update]}, "latest": none}
    about = {"task": "tagger", "beam": 1, "merge": True, "sentence": [word], "prediction": [label]}
    return about | {"gold_analysis": ["G"], "steps": [start, step], "fell_off": 1, "rules": rules}


def test_words_labels_and_features_are_escaped():
    for html in (
        beam_html(trace_of(EVIL, EVIL, EVIL)),
        model_html(EVIL, {EVIL: [(EVIL, 1.0)]}, []),
        confusion_svg([EVIL, "b"], [[1, 2], [0, 1]]),
    ):
        assert_harmless(html)
        assert "&lt;script&gt;" in html
    ET.fromstring(confusion_svg([EVIL, "b"], [[1, 2], [0, 1]]))


def test_a_beam_shows_the_rules_and_the_fall():
    html = beam_html(trace_of())
    assert "gold falls off" in html
    assert "early: step 1, w·ΔΦ = -0.5, a violation" in html
    assert "latest: no update" in html
    assert '<td class="number">-1</td><td>L</td><td>f</td><td class="number">2.5</td>' in html
    shown = texts(beam_svg(trace_of()))
    assert "early: step 1" in shown
    assert "gold falls off: step 1" in shown


def test_curves_of_a_history():
    passes = [{"pass": k, "updates": 10 - k, "invalid": k, "dev": 90.0 + k, "fell_at": None} for k in (1, 2, 3)]
    svg = history_svg(passes)
    assert {"score on dev data, per cent", "updates", "invalid updates", "dev score"} <= set(texts(svg))
    assert not any("fell off" in text for text in texts(svg))
    places = [float(y) for _, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)[:3]]
    assert places == sorted(places, reverse=True)
    pipeline = history_svg([{"part": "tagger", "passes": passes}])
    assert "tagger: updates" in texts(pipeline)
    assert_harmless(History(passes)._repr_html_())


def test_a_picture_of_confusions_counts():
    found = Confusion.of([("a", "b"), ("a", "b"), ("a", "a"), ("b", "c"), ("d", "d")])
    assert found.labels[:2] == ["b", "a"]
    assert found.mistakes == [("a", "b", 2, 3), ("b", "c", 1, 1)]
    svg = confusion_svg(found.labels, found.counts)
    titles = [element.text for element in ET.fromstring(svg).iter(f"{SVG}title")]
    assert "a taken for b: 2" in titles
    assert found.first(1).counts == [[0]]
    assert "66.67%" in found.report()
    assert Confusion.of([("a", "a")]).report() == "no label is taken for another"


def test_sentences_stand_below_each_other_in_one_picture():
    doc = Doc.from_conllu(
        conllu("Ann sleeps .", upos="PROPN VERB PUNCT", head="2 0 2", deprel="nsubj root punct")
        + conllu("Bo <runs>", head="2 0", deprel="nsubj root")
    )
    root = ET.fromstring(doc.to_svg())
    pieces = root.findall(f"{SVG}svg")
    assert [piece.get("y") for piece in pieces] == ["0", pieces[0].get("height")]
    assert float(root.get("height")) == sum(float(piece.get("height")) for piece in pieces)
    assert {"Ann", "<runs>", "nsubj"} <= set(texts(doc.to_svg()))
    assert_harmless(doc.to_svg())
    assert "Ann" in doc.sentences[0]._repr_html_()


@pytest.mark.parametrize("kind", ["chunker", "parser"])
def test_what_a_notebook_shows(kind):
    rows = chunk_rows(20, 1) if kind == "chunker" else tree_rows(20, 1)
    make = Chunker(runs=1, passes=2, beam=2) if kind == "chunker" else Parser(passes=2)
    assert "not trained yet" in make._repr_html_()
    assert type(make).__name__ in make._repr_html_()
    assert_harmless(make._repr_html_())
    model = make.fit(rows, dev=rows[:5])
    html = model._repr_html_()
    assert model.signature_ in html
    assert "dev score" in html
    assert "<details>" in html
    assert_harmless(html)
    assert "dev score" in model.history_._repr_html_()
    shown = model.show_beam(rows[0], True, beam=1)
    assert shown == model.trace(rows[0], True, beam=1)
    assert_harmless(shown._repr_html_())
    assert len(re.findall("<summary>step ", shown._repr_html_())) == len(shown.steps) - 1


def test_a_history_is_kept_with_the_model(tmp_path):
    model = Chunker(runs=1, passes=2).fit(chunk_rows(20, 1))
    model.save(tmp_path / "m")
    assert "updates" in structron.load(tmp_path / "m").history_._repr_html_()
