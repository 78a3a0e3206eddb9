"""What the experiments of all papers do: ask for corpora first, keep their trials, make tables and verdicts of them."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from structron.cli import experiment
from structron.errors import StructronError
from structron.experiments.frame import Claim, Experiment, Ledger, paper_of
from structron.experiments.frame import report as frame_report
from structron.experiments.frame.documents import papers_page, picture_of, renewed

LEFT_OUT = {"daume2005": 4, "huang2012": 3}
"""Claims about beams that the tiny scale of the tests leaves out."""
PAPERS = ["collins2002", "daume2005", "kazama2007", "huang2012", "dror2016"]


def test_every_paper_is_found_and_nothing_else():
    assert experiment.papers() == PAPERS


@pytest.mark.parametrize("paper", [paper for paper in PAPERS if paper != "dror2016"])
def test_papers_about_corpora_ask_for_them_before_any_work(paper, tmp_path, monkeypatch):
    monkeypatch.delenv("STRUCTRON_DATA", raising=False)
    with pytest.raises(StructronError, match=f"{paper} needs real corpora"):
        experiment.run(paper)
    with pytest.raises(StructronError, match=r"no corpus|none of conll2002-dutch"):
        experiment.run(paper, tmp_path, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def entries(found: dict) -> list[dict]:
    """The tables of a `paper.toml`."""
    inner = [entry for value in found.values() if isinstance(value, dict) for entry in entries(value)]
    return [found, *inner] if "title" in found else inner


def pattern(text: str) -> str:
    """Of a text with names in it."""
    return re.sub(r"\\\{.*?\\\}", ".+", re.escape(text))


@pytest.mark.parametrize("paper", PAPERS)
def test_tables_stand_beside_the_papers(paper, run):
    """Every table of the paper's file, with all its notes, and in each row the paper's figures if it has some."""
    blocks = run(paper).printed.split("\n\n")
    for entry in entries(paper_of(paper)):
        found = [block for block in blocks if re.match(pattern(entry["title"]), block)]
        assert found
        for block in found:
            assert all(re.search(pattern(note), block) for note in entry.get("notes", ()))
            rows = {line.strip().partition("  ")[0]: line for line in block.splitlines()}
            for name in entry.get("figures", {}).keys() & rows.keys() if len(entry["columns"]) > 1 else ():
                cells = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in entry["figures"][name]]
                assert all(cell in rows[name] for cell in cells)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_has_a_verdict(paper, run):
    found = run(paper)
    claims = list(found.experiment.claims(found.ledger))
    assert claims
    assert {claim.verdict.verdict for claim in claims} <= {
        "reproduced",
        "smaller",
        "not reproduced",
        "not decidable",
        "not run",
    }
    left_out = [claim.text for claim in claims if claim.verdict.verdict == "not run"]
    assert len(left_out) <= LEFT_OUT.get(paper, 0), left_out
    for claim in claims:
        assert f"{claim.where}: {claim.text}" in found.printed
        assert claim.text.endswith(".")
    assert len({(claim.where, claim.text) for claim in claims}) == len(claims)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_second_run_finds_everything_done(paper, run, toy_data):
    found = run(paper)
    again = frame_report.run(found.experiment, toy_data, True, found.folder, jobs=1)
    assert again.trials == found.ledger.trials


@pytest.mark.parametrize("paper", PAPERS)
def test_tables_and_claims_can_be_made_from_a_part_of_the_trials(paper, run, tmp_path):
    """As they are after an interrupt: from none, and from every second trial."""
    found = run(paper)
    for step in (0, 2):
        ledger = Ledger(tmp_path / f"{step}.json", found.ledger.paper, True)
        keys = list(found.ledger.trials)[::step] if step else []
        ledger.trials = {key: found.ledger.trials[key] for key in keys}
        assert all(str(table) for table in found.experiment.tables(ledger))
        assert all(claim.verdict.verdict for claim in found.experiment.claims(ledger))
        list(found.experiment.drawings(ledger))


@pytest.mark.parametrize("paper", PAPERS)
def test_results_hold_no_words_of_a_corpus(paper, run, toys):
    """Not even one: figures are no derivatives, sentences are."""
    words = {word for sentence in toys["train"] for word in sentence.words if len(word) > 5 and word.isalpha()}
    text = run(paper).ledger.path.read_text()
    assert not [word for word in words if f'"{word}"' in text]


@pytest.mark.parametrize("paper", PAPERS)
def test_figures_are_drawn(paper, run):
    pytest.importorskip("matplotlib")
    found = run(paper)
    expected = {f"{paper}-{drawing.name}" for drawing in found.experiment.drawings(found.ledger)}
    pictures = list(found.folder.glob("*.png"))
    assert {path.stem for path in pictures} == expected
    assert all(path.name in found.said for path in pictures)


def test_pages_are_those_that_the_results_make():
    """`structron papers --write docs` brings them up to date."""
    root = Path(__file__).parents[2]
    found = [(one, one.ledger(root / "results")) for one in map(experiment.experiment_of, experiment.papers())]
    assert (root / "docs/papers.md").read_text(encoding="utf-8") == papers_page(found)
    page = (root / "docs/results.md").read_text(encoding="utf-8")
    for one, ledger in found:
        assert renewed(page, one, ledger) == page
        assert not ledger.quick
    for name, place in experiment.OTHERS.items():
        one, page = experiment.experiment_of(name), (root / "docs" / place).read_text(encoding="utf-8")
        assert renewed(page, one, one.ledger(root / "results")) == page


# -- what a person says on the page, and what it rests on --------------------------------------------------------------

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@cache
def published(paper: str) -> tuple[Experiment, Ledger, dict[str, Claim]]:
    """A paper with the results of the repository."""
    one = experiment.experiment_of(paper)
    ledger = one.ledger(Path(__file__).parents[2] / "results")
    return one, ledger, {claim.key: claim for claim in one.claims(ledger)}


def figures_of(texts: Iterable[str]) -> set[str]:
    return {number for text in texts for number in NUMBER.findall(text)}


@pytest.mark.parametrize("paper", PAPERS)
def test_summaries_rest_on_claims_and_their_figures(paper):
    one, _, claims = published(paper)
    assert len(claims) == sum(1 for _ in one.claims(published(paper)[1]))  # every claim has a key of its own
    assert len(one.page["summary"]) == 5
    for sentence in one.page["summary"]:
        assert sentence["text"].endswith(".")
        assert not re.search(r"[.!?] [A-Z]", sentence["text"]), "one sentence"
        assert {key: str(claims[key].verdict) for key in sentence["claims"]} == sentence["claims"]
        cells = [cell for key in sentence["claims"] for cell in (claims[key].here, claims[key].known)]
        texts = [claims[key].text for key in sentence["claims"]]
        gains = [f"{e.paper:.2f}" for key in sentence["claims"] for e in claims[key].verdict.effects if e.paper]
        missing = figures_of([sentence["text"]]) - figures_of([*cells, *texts, *gains])
        assert not missing - KNOWN_FIGURES.get(paper, set()), sentence["text"]


KNOWN_FIGURES = {"huang2012": {"28", "50"}, "kazama2007": {"20"}}
"""Sizes that stand in sentences and are no results: of sets of templates, and the most passes."""


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_not_reproduced_has_a_reason(paper):
    """Or the word unknown; and what has a reason is not reproduced. Figures stand in claims or in tables."""
    one, ledger, claims = published(paper)
    wanted = {k for k, c in claims.items() if c.kind == "paper" and str(c.verdict) in ("not reproduced", "smaller")}
    given = [key for reason in one.page["reasons"] for key in reason["claims"]]
    covered = {key: {k for k in wanted if k == key or k.startswith(f"{key} ")} for key in given}
    assert all(covered.values()), [key for key, own in covered.items() if not own]
    assert set().union(*covered.values()) == wanted
    known = figures_of([*(cell for c in claims.values() for cell in (c.here, c.known, c.text))])
    known |= figures_of(map(str, one.tables(ledger))) | KNOWN_FIGURES.get(paper, set())
    for reason in one.page["reasons"]:
        assert not figures_of([reason["text"]]) - known, reason["text"]


def test_the_page_is_short_and_says_no_p_of_nothing():
    page = (Path(__file__).parents[2] / "docs/papers.md").read_text(encoding="utf-8")
    assert len(re.findall(r"\S*\w\S*", page)) <= 6000
    assert "p 0.000" not in page
    assert "; 0.000" not in page
    assert "not run" not in page


@pytest.mark.parametrize("paper", PAPERS)
def test_a_picture_is_the_one_that_the_results_make(paper):
    one, ledger, _ = published(paper)
    place = Path(__file__).parents[2] / f"docs/pictures/paper-{paper}.svg"
    drawn = picture_of(one, ledger)
    assert place.read_text(encoding="utf-8") == drawn
    root = ElementTree.fromstring(drawn)
    assert len(root.findall(".//{*}circle")) >= 2 * 5
