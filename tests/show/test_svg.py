"""Drawings: they hold what the sentences hold, are well formed, and nothing in them stands on anything else."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docs import conllu, docs
from structron.io.doc import Doc
from structron.show.svg import _arcs, _width, page, to_html
from structron.text.analysis import Entity, Word

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "div",
    "figure",
    "figcaption",
    "svg",
    "path",
    "text",
    "g",
    "rect",
}
TREE = conllu(
    "I don't:do+n't see Ann~ .",
    upos="PRON AUX PART VERB PROPN PUNCT",
    lemma="I do not see Ann .",
    head="4 4 4 0 4 4",
    deprel="nsubj aux advmod root obj punct",
)


def drawings(html: str) -> list[ET.Element]:
    return [ET.fromstring(svg) for svg in re.findall("<svg.*?</svg>", html, re.DOTALL)]


def texts(svg: ET.Element, kind: str | None) -> list[str]:
    return [element.text or "" for element in svg.iter(f"{SVG}text") if element.get("class") == kind]


class Tags(HTMLParser):
    """Collects tags, and checks that each is closed."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_an_entity_is_labelled_below_its_words_where_no_multiword_token_is():
    doc = Doc.from_conllu(TREE)
    heights = []
    for first, last in ((4, 5), (2, 5)):
        doc.sentences[0].entities = [Entity("PER", first, last, 0, 0, "")]
        (svg,) = drawings(to_html(doc))
        places = {element.get("class"): float(element.get("y", 0)) for element in svg.iter(f"{SVG}text")}
        heights.append(places["label"] - places["token"])
    assert heights[0] <= 0 < heights[1]


def test_a_tree():
    doc = Doc.from_conllu(TREE)
    doc.sentences[0].set_entities(["O", "O", "O", "O", "B-PER", "O"])
    (svg,) = drawings(to_html(doc))
    assert texts(svg, None) == ["I", "do", "n't", "see", "Ann", "."]
    assert texts(svg, "tag") == ["PRON", "AUX", "PART", "VERB", "PROPN", "PUNCT"]
    assert sorted(texts(svg, "relation")) == sorted(["nsubj", "aux", "advmod", "root", "obj", "punct"])
    assert texts(svg, "token") == ["don't"]
    assert texts(svg, "label") == ["PER"]
    assert [element.text for element in svg.iter(f"{SVG}title")] == ["I", "do", "not", "see", "Ann", "."]


def test_without_heads_there_are_no_arcs():
    (svg,) = drawings(to_html(Doc.from_conllu(conllu("no trees here"))))
    assert texts(svg, None) == ["no", "trees", "here"]
    assert not list(svg.iter(f"{SVG}path"))
    assert float(svg.get("height", "")) < 60


@settings(max_examples=50)
@given(docs(), st.text(max_size=10))
def test_any_text_makes_a_sound_page(doc, title):
    html = page(doc, title)
    found = Tags(html)
    assert {*found.tags} <= TAGS
    assert not {name for name, _ in found.attributes} & {"src", "href", "onload", "onclick"}
    assert "url(" not in html
    assert "@import" not in html
    svgs = drawings(html)
    assert len(svgs) == len(doc)
    for svg, sentence in zip(svgs, doc, strict=True):
        assert len(texts(svg, None)) == len(sentence.words)
        assert len(texts(svg, "label")) == len(sentence.entities)


def test_markup_is_escaped():
    html = page(Doc.from_conllu(TREE.replace("Ann", "<script>\"'&").replace("obj", "<o>")), "</title><b>")
    assert "<script>" not in html
    assert "<o>" not in html
    assert html.count("</title>") == html.count("<title>")
    assert "&lt;script&gt;&quot;&#x27;&amp;" in html


def test_what_html_cannot_hold():
    html = to_html(Doc.from_spans("a\x00\x1b\ud800b", [[(0, 5)]]))
    assert "a\ufffd\ufffd\ufffdb" in html
    html.encode()


@pytest.mark.parametrize("head", [0, 1, 9])
def test_strange_heads_do_no_harm(head):
    assert drawings(to_html(Doc.from_conllu(conllu("a b", head=f"{head} 1", deprel="x y"))))


@given(st.integers(1, 9).flatmap(lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)))
def test_arcs_of_one_height_are_side_by_side(heads):
    arcs = _arcs([Word(k, "w", head=head) for k, head in enumerate(heads, 1)])
    assert len(arcs) == sum(k != head for k, head in enumerate(heads, 1))
    for one, other in combinations(arcs, 2):
        (a, b), (c, d) = sorted((one.head, one.dependent)), sorted((other.head, other.dependent))
        if a < b and c < d and max(a, c) < min(b, d):
            assert one.level != other.level
            assert (one.level > other.level) == (b - a > d - c) or b - a == d - c or not (a <= c and d <= b)
        if a == b and c < a < d:
            assert one.level > other.level


def test_relations_have_room():
    doc = Doc.from_conllu(conllu("a b c", head="2 0 2", deprel="a-very-long-relation root x"))
    (svg,) = drawings(to_html(doc))
    places = [float(element.get("x", "")) for element in svg.iter(f"{SVG}text") if element.get("class") is None]
    assert places[1] - places[0] > _width("a-very-long-relation", 11)
    assert places[2] - places[1] < 60


def test_text_from_right_to_left_is_drawn_so():
    html = to_html(Doc.from_conllu(conllu("שלום עולם", head="0 1", deprel="root x")))
    (svg,) = drawings(html)
    places = [float(element.get("x", "")) for element in svg.iter(f"{SVG}text") if element.get("class") is None]
    assert places[0] > places[1]
    assert 'dir="rtl"' in html
