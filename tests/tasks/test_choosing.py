"""Which sentences are chosen to be labelled, why, and what a simulated person gains by it."""

import itertools
import json
import math

import numpy as np
import pytest

import structron
from structron.cli import choose
from structron.cli.app import main
from structron.data.toy_english import toy_english, write_conllu
from structron.tasks.choosing import Choice, Doubt, Doubter, Plan, doubts, simulate


def rows_of(count: int, seed: int) -> list:
    return [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in toy_english(count, seed=seed)]


@pytest.fixture(scope="module")
def chunkers() -> list[structron.Chunker]:
    options = {"columns": ["word", "pos", "chunk"], "runs": 1, "passes": 2}
    return [structron.Chunker(**options, seed=seed).fit(rows_of(25, 1)) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def files(chunkers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("choose")
    for seed, model in enumerate(chunkers):
        model.save(folder / f"{seed}.structron")
    for name, rows in (("pool", rows_of(40, 4)), ("dev", rows_of(20, 5))):
        text = "".join("".join(" ".join(row) + "\n" for row in sentence) + "\n" for sentence in rows)
        (folder / f"{name}.conll").write_text(text)
    return folder


def test_numbers_that_no_pool_has(files, capsys):
    given = ["choose", str(files / "pool.conll"), "--model", str(files / "1.structron"), "--quiet"]
    assert main([*given, "--number", "1" + "0" * 30]) == 0
    different = {tuple(word for word, *_ in rows) for rows in rows_of(40, 4)}
    assert len(capsys.readouterr().out.splitlines()) == len(different)
    assert main([*given, "--random", "nan"]) == 2
    assert capsys.readouterr().err == "structron: error: --random: nan; expected a number from 0 to 1\n"


# -- how sure --------------------------------------------------------------------------------------------------------


def test_margins_are_those_between_the_two_best_labellings(chunkers):
    model, rows = chunkers[0], [[row[:2] for row in sentence] for sentence in rows_of(12, 6)]
    lists = model.nbest(rows, 2)
    _, margins = model.predict_with_margins(rows)
    for doubt, mean, best, own in zip(
        doubts([model], rows, "margin"), doubts([model], rows, "margin-per-word"), lists, margins, strict=True
    ):
        assert doubt.value == pytest.approx(best[0][1] - best[1][1], abs=1e-3)
        assert mean.value == pytest.approx(np.mean([margin for margin in own if margin < math.inf]), rel=1e-6)
        assert own[doubt.word] == min(own)
        assert doubt.reason.startswith(f"margin {min(own):.4g} at word {doubt.word + 1}, ")


def test_doubt_of_words(chunkers):
    """The mean of exp(-margin / small), where a tenth of the margins of the first batch are below `small`."""
    rows = [[row[:2] for row in sentence] for sentence in rows_of(20, 6)]
    doubter = Doubter(chunkers[:1], "doubt-per-word")
    found = doubter(rows[:12]) + doubter(rows[12:])
    _, margins = chunkers[0].predict_with_margins(rows)
    small = np.quantile([m for own in margins[:12] for m in own if m < math.inf], 0.1)
    for doubt, own in zip(found, margins, strict=True):
        assert doubt.value == pytest.approx(-np.mean([math.exp(-m / small) for m in own]))
    assert [doubt.word for doubt in found] == [int(np.argmin(own)) for own in margins]


def test_models_that_differ(chunkers):
    """The entropy of three votes by hand: 2 to 1 is 0.6365, all different 1.0986."""

    class Fixed:
        def __init__(self, labels):
            self.labels = labels

        def predict_columns(self, sentences, jobs):
            return [[own] for own in self.labels]

    models = [Fixed([["A", "A"], ["A"]]), Fixed([["A", "B"], ["A"]]), Fixed([["B", "C"], ["A"]])]
    first, second = doubts(models, [None, None], "disagreement")
    assert first.value == pytest.approx(-(0.6365 + 1.0986) / 2, abs=1e-4)
    assert first.reason == "2 of 2 words differ, most word 2: A, B, C"
    assert second == Doubt(0.0, "the models agree")
    found = doubts(chunkers, [[row[:2] for row in own] for own in rows_of(30, 7)], "disagreement")
    assert any(doubt.value < 0 for doubt in found)


# -- the choice --------------------------------------------------------------------------------------------------------


def test_the_least_sure_come_first_and_equal_sentences_once():
    choice = Choice(3, share=0.0)
    for k, (text, value) in enumerate([("a b", 3.0), ("c", 1.0), ("c", 1.0), ("d e", 2.0), ("", 0.0), ("f", 9.0)]):
        choice.add(text.split(), Doubt(value, "why"), k)
    assert [k for _, k in choice.chosen()] == [1, 3, 0]


def test_near_duplicates_are_left_out():
    texts = ["the dog sees a cat", "The dog sees a cat !", "nobody knows why", "the dog sees a cat today"]
    chosen = {}
    for diverse in (False, True):
        choice = Choice(3, share=0.0, diverse=diverse)
        for k, text in enumerate(texts):
            choice.add(text.split(), Doubt(float(k), "why"), k)
        chosen[diverse] = [k for _, k in choice.chosen()]
    assert chosen == {False: [0, 1, 2], True: [0, 2]}


def test_a_share_at_random_is_drawn_evenly_from_a_stream_of_any_length():
    counts = np.zeros(200)
    for seed in range(60):
        choice = Choice(20, share=0.5, seed=seed)
        for k in range(200):
            choice.add([f"w{k}"], Doubt(float(k), "why"), k)
        found = choice.chosen()
        assert len(found) == 20
        assert [k for doubt, k in found if doubt.reason == "why"] == list(range(10))
        counts[[k for doubt, k in found if doubt.reason == "random"]] += 1
    assert counts[10:].sum() == 600
    assert counts[10:].max() < 15


def test_memory_does_not_grow(monkeypatch):
    choice = Choice(2)
    choice.size = 5
    for k in range(50):
        choice.add([str(k)], Doubt(float(-k), "why"), k)
    assert len(choice.least) == len(choice.drawn) == 5
    assert choice.chosen()[0][1] == 49


# -- the command -------------------------------------------------------------------------------------------------------


def test_sentences_with_their_reasons(files, capsys):
    pool, out = str(files / "pool.conll"), files / "out.conll"
    choose.run(pool, [str(files / "0.structron")], number=4, output=out, at_random=0.25, as_json=True, quiet=True)
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [own["rank"] for own in found] == [1, 2, 3, 4]
    assert [own["reason"] == "random" for own in found] == [False, False, False, True]
    values = [own["value"] for own in found[:3]]
    assert values == sorted(values)
    lines = (files / "pool.conll").read_text().split("\n")
    for own in found:
        assert lines[own["line"] - 1].split()[0] == own["words"][0]
    written = out.read_text().split("\n\n")[:-1]
    assert [own.split("\n")[0] for own in written] == [f"# choose = {own['rank']}, {own['reason']}" for own in found]
    assert [[line.split()[0] for line in own.split("\n")[1:]] for own in written] == [own["words"] for own in found]


def test_plain_text_is_cut_and_tagged(files, capsys):
    """Lines of the text are those that sentences begin in; what is written are their words."""
    pool, out = files / "pool.txt", files / "next.txt"
    pool.write_text("The dog barks. Nobody\nsaw the cat.\n\nThe dog barks.\nIt rained all day.\n")
    given = [str(pool), "-m", str(files / "0.structron"), "-n", "9", "--random", "0", "-o", str(out), "-q"]
    assert main(["choose", *given]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert sorted((int(place.rsplit(":", 1)[1]), text) for _, place, _, text in lines) == [
        (1, "Nobody saw the cat ."),
        (1, "The dog barks ."),
        (5, "It rained all day ."),
    ]
    assert out.read_text().splitlines() == [text for *_, text in lines]
    assert all(reason.startswith("margin ") for _, _, reason, _ in lines)


def test_a_treebank_is_chosen_from_for_a_parser(files, capsys):
    """By how far the best tree is ahead of the second; sentences are written as they are."""
    pool, out, bank = files / "pool.conllu", files / "next.conllu", files / "bank.conllu"
    write_conllu(bank, toy_english(25, seed=1))
    write_conllu(pool, toy_english(12, seed=4))
    words = [[line.split("\t") for line in block.splitlines() if line[0].isdigit()] for block in blocks_of(bank)]
    rows = [[(word[1], word[3], word[6], word[7]) for word in own] for own in words]
    parser = structron.Parser(columns=["form", "upos", "head", "deprel"], passes=2).fit(rows)
    parser.save(files / "trees.structron")
    given = [str(pool), "-m", str(files / "trees.structron"), "-n", "3", "--random", "0", "-o", str(out)]
    assert main(["choose", *given, "--json", "-q"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    gaps = []
    for block in blocks_of(pool):
        own = [line.split("\t") for line in block.splitlines() if line[0].isdigit()]
        (best,) = parser.nbest([[(word[1], word[3]) for word in own]], 2)
        gaps.append((best[0][1] - best[1][1] if len(best) > 1 else math.inf, [word[1] for word in own]))
    gaps.sort()
    assert [own["words"] for own in found] == [words for _, words in gaps[:3]]
    assert [own["value"] for own in found] == pytest.approx([gap for gap, _ in gaps[:3]], rel=1e-4)
    for block in blocks_of(out):
        assert "\n".join(line for line in block.splitlines() if line[0].isdigit()) in pool.read_text()


def blocks_of(path) -> list[str]:
    return [block for block in path.read_text().split("\n\n") if block]


def test_disagreement_is_usual_with_several_models(files, capsys):
    models = [str(files / f"{k}.structron") for k in range(3)]
    choose.run(str(files / "pool.conll"), models, number=2, at_random=0.0, quiet=True)
    assert all("words differ" in line for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "foo"], "unknown by 'foo'; expected one of: margin, margin-per-word, doubt-per-word, "),
        (["--by", "disagreement"], "disagreement: one model; expected two or more of the same task"),
        (["--dev", "dev.conll"], "--dev: expected --simulate too"),
        (["--simulate"], "--simulate: expected --dev FILE"),
        (["-o", "pool.conll"], "--output pool.conll: is also the input pool.conll"),
        (["--simulate", "--dev", "dev.conll", "--plot", "x.png"], "expected a file that ends in .svg"),
    ],
)
def test_mistakes_are_told_in_a_line(files, monkeypatch, capsys, options, message):
    monkeypatch.chdir(files)
    before = (files / "pool.conll").read_bytes()
    assert main(["choose", "pool.conll", "-m", "0.structron", *options]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error
    assert (files / "pool.conll").read_bytes() == before


# -- a simulation ------------------------------------------------------------------------------------------------------


def test_rounds_count_words_and_corrections(chunkers):
    pool, dev = rows_of(40, 8), rows_of(15, 9)
    plan = Plan(start=5, number=5, rounds=2)
    found = simulate(chunkers[0], pool, dev, ["margin", "random"], plan)
    order = np.random.default_rng(1).permutation(40).tolist()[:5]
    first = float(sum(len(pool[k]) for k in order))
    for steps in found.curves.values():
        assert len(steps) == 3
        assert (steps[0]["words"], steps[0]["corrections"]) == (first, first)
        for one, two in itertools.pairwise(steps):
            assert 0 <= two["corrections"] - one["corrections"] <= two["words"] - one["words"]
    assert found.everything["words"] == sum(map(len, pool))
    again = simulate(chunkers[0], pool, dev, ["margin", "random"], plan)
    assert again == found
    wanted = 0.95 * found.everything["score"]
    reached = found.words_until("margin")
    assert reached == next((step["words"] for step in found.curves["margin"] if step["score"] >= wanted), None)


def test_a_person_is_asked_for_two_words_of_a_sentence(chunkers):
    """The least sure ones that are not labelled yet; the others stay open, and sentences may come again."""
    pool, dev = rows_of(30, 8), rows_of(15, 9)
    model, sentences = chunkers[0], pool[:4]
    labels, margins = model.predict_with_margins(sentences)
    for done in ([set() for _ in sentences], [{0, 2} for _ in sentences]):
        found = Doubter([model], "words")(sentences, done)
        for own, mine, said, labelled in zip(found, margins, labels, done, strict=True):
            expected = sorted((m, i) for i, m in enumerate(mine) if i not in labelled)[:2]
            assert own.ask == tuple(i for _, i in expected)
            assert own.to_json()["ask"] == [i + 1 for i in own.ask]
            assert (own.value, own.word) == expected[0]
            assert own.reason.startswith(f"word {own.ask[0] + 1}: margin ")
            assert own.reason.endswith(said[own.ask[-1]])
    seen = []

    class Watched(structron.Chunker):
        def fit(self, sentences, **more):
            seen.append(sentences)
            return super().fit(sentences, **more)

    watched = Watched(**chunkers[0].get_params()).fit(rows_of(5, 1))
    found = simulate(watched, pool, dev, ["words"], Plan(start=5, number=30, rounds=3))
    steps = found.curves["words"]
    for one, two in itertools.pairwise(steps):
        assert 0 <= two["corrections"] - one["corrections"] <= two["words"] - one["words"] <= 2 * 25
    for sentences, step in zip(seen[2:], steps, strict=True):
        assert sum(row[-1] is not None for sentence in sentences for row in sentence) == step["words"]


def test_curves_are_written(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    options = ["--simulate", "--dev", "dev.conll", "--start", "5", "-n", "5", "--rounds", "1", "-q"]
    assert main(["choose", "pool.conll", "-m", "0.structron", *options, "-o", "c.json", "--plot", "c.svg"]) == 0
    found = json.loads((files / "c.json").read_text())
    assert set(found["curves"]) == {"margin", "random"}
    assert found["metric"] == "f1"
    assert (files / "c.svg").read_text().count("by words looked at") == 1
