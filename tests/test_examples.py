"""The programs in examples/ run and say what they promise."""

import importlib.util
import itertools
import re
import runpy
import sys
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structron.data.toy_english
from helpers import ROOT
from structron import BeamLearner

EXAMPLES = ROOT / "examples"


def module(name: str):
    """An example as a module, by whose name what is compiled of it is found again; its `main` is not run."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    found = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


segment_and_tag, noisy_brackets = module("segment_and_tag"), module("noisy_brackets")
route_finding, beam_lesson = module("route_finding"), module("beam_lesson")


def test_all_examples_are_here():
    run = {"quickstart", "own_features", "sklearn_chunking", "segment_and_tag", "noisy_brackets", "route_finding"}
    run |= {"document_features", "beam_lesson", "recipes", "lemma_letters"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == run
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"{name}.py" in text for name in run)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("quickstart", r"F1 \d\d\.\d\d on \d+ sentences"),
        ("own_features", r"templates \+ titles \+ own function +F1 \d\d\.\d\d"),
        ("sklearn_chunking", r"best parameters(.|\n)*test F1 9\d\.\d\d"),
    ],
)
def test_examples_on_toy_english(name, said, tmp_path, monkeypatch, capsys):
    whole = structron.data.toy_english.toy_english
    monkeypatch.setattr(structron.data.toy_english, "toy_english", lambda n, seed=0: whole(max(20, n // 10), seed))
    if name == "sklearn_chunking":
        monkeypatch.setattr(structron.data.toy_english, "toy_english", lambda n, seed: whole(n, seed)[: n - 100])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert re.search(said, capsys.readouterr().out)


# -- words and tags from characters ----------------------------------------------------------------------------------
def test_segmentation(capsys):
    segment_and_tag.main(size=200)
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()[2:6]]
    assert [row[:2] for row in rows] == [["1", "early"], ["8", "early"], ["1", "max-violation"], ["8", "max-violation"]]
    for row in rows:
        words, joint = float(row[2]), float(row[3])
        assert 50 < joint <= words <= 100
    assert all(float(wide[3]) > float(greedy[3]) for greedy, wide in ((rows[0], rows[1]), (rows[2], rows[3])))
    assert "→" in out


def test_words_of_actions():
    actions = ["B-N", "I", "B-V", "B-N", "I", "I", "END"]
    assert segment_and_tag.words_of(actions, False) == {(0, 2), (2, 3), (3, 6)}
    assert segment_and_tag.words_of(actions, True) == {(0, 2, "B-N"), (2, 3, "B-V"), (3, 6, "B-N")}
    other = ["B-N", "B-N", "B-V", "B-N", "I", "I", "END"]
    assert segment_and_tag.f1([actions], [other], False) == pytest.approx(100 * 2 * 2 / (3 + 4))
    assert segment_and_tag.f1([actions], [actions], True) == 100


CONLLU = """1	天地	_	NOUN	_	_	0	_	_	_
2	人	_	VERB	_	_	0	_	_	_

1	人	_	NOUN	_	_	0	_	_	_
2	天	_	VERB	_	_	0	_	_	_

"""


def test_segmentation_of_a_treebank(tmp_path, capsys):
    (tmp_path / "t.conllu").write_text(CONLLU, encoding="utf-8")
    segment_and_tag.main([str(tmp_path / "t.conllu")] * 2)
    assert "2 sentences to learn from, 2 to test on, 2 tags" in capsys.readouterr().out


# -- brackets --------------------------------------------------------------------------------------------------------
def is_nested(text: str) -> bool:
    stack = []
    for c in text:
        if c in "([{":
            stack.append(c)
        elif c in ")]}" and (not stack or stack.pop() != "([{"[")]}".index(c)]):
            return False
    return not stack


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.5, 1.0]))
@settings(max_examples=50)
def test_the_actions_repair_what_was_spoilt(seed, noise):
    rng = Random(seed)
    text = noisy_brackets.correct_text(rng)
    assert is_nested(text)
    spoilt, actions = noisy_brackets.spoil(text, rng, noise)
    assert noisy_brackets.repaired(spoilt, actions) == text
    BeamLearner(noisy_brackets.PROBLEM)._read_examples([(noisy_brackets.encode(spoilt), actions)], "")


def test_whatever_it_reads_the_repaired_text_is_nested():
    rng = Random(3)
    pairs = [noisy_brackets.spoil(noisy_brackets.correct_text(rng), rng, 0.3) for _ in range(30)]
    encode = noisy_brackets.encode
    model = BeamLearner(noisy_brackets.PROBLEM, passes=1).fit([(encode(text), actions) for text, actions in pairs])
    texts = ["".join(rng.choices("([{)]}a1", k=rng.randint(1, 20))) for _ in range(100)]
    for text, actions in zip(texts, model.predict(map(encode, texts)), strict=True):
        assert is_nested(noisy_brackets.repaired(text, actions))


def test_brackets(capsys):
    noisy_brackets.main(size=150)
    lines = capsys.readouterr().out.splitlines()
    shares = [float(re.search(r"([\d.]+) % repaired", line)[1]) for line in lines[1:4]]
    assert lines[0].startswith("150 texts to learn from, 75 to test on")
    assert shares[0] < min(shares[1:])


# -- routes ----------------------------------------------------------------------------------------------------------
def test_the_walkers_routes_are_the_easiest():
    """All of them, against relaxing every road until nothing changes."""
    rng, size = Random(4), route_finding.SIZE
    for x in (route_finding.landscape(rng) for _ in range(5)):
        least = {(0, 0): 0}
        for _ in range(size * size):
            for (r, c), (down, right) in itertools.product(list(least), route_finding.STEPS):
                to = (r + down, c + right)
                if 0 <= to[0] < size and 0 <= to[1] < size:
                    total = least[r, c] + route_finding.EFFORT[x[to[0]][to[1]]]
                    least[to] = min(least.get(to, total), total)
        routes = route_finding.easiest(x)
        assert {route_finding.effort(x, route) for route in routes} == {least[size - 1, size - 1]}
        assert len({tuple(route) for route in routes}) == len(routes)


def test_features_of_documents(capsys):
    module("document_features").main()
    lines = capsys.readouterr().out.splitlines()
    words, documents = (float(line.split()[-1]) for line in lines[:2])
    assert words < 80 < 99 < documents
    scores = [float(line.split()[0]) for line in lines[2:]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_routes(capsys):
    route_finding.main(size=30)
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"30 landscapes to learn from, \d+ with several easiest routes; 15 to test on", lines[0])
    shares = [float(re.search(r"([\d.]+) %", line)[1]) for line in [*lines[1:5], *lines[6:8]]]
    assert shares[0] < 50 < 80 < min(shares[1:])
    best_first, a_star = (float(re.search(r"([\d.]+) of 36 places", line)[1]) for line in lines[6:8])
    assert a_star < best_first <= 36
    weights = [float(weight) for weight in re.findall(r"-?\d+\.\d+", lines[5])]
    assert weights == sorted(weights, reverse=True)


# -- the lesson on beams ---------------------------------------------------------------------------------------------


def test_figure_1_is_that_of_the_paper():
    """ΔΦ, w·ΔΦ and the new weights of the paper's four iterations, and a beam of two that learns it."""
    rows = beam_lesson.figure_1("standard", 4)
    assert [" ".join(trace.prediction) for trace, *_ in rows] == ["N N N .", "N V N ."] * 2
    assert [change for _, change, _, _ in rows] == [(-1, 1), (1, 1)] * 2
    assert [difference for _, _, difference, _ in rows] == [0, 0, 2, 2]
    assert [weights for *_, weights in rows] == [(-1, 1), (0, 2), (-1, 3), (0, 4)]
    assert [trace.fell_off for trace, *_ in rows] == [3, 2, 3, 2]
    assert [difference for _, _, difference, _ in beam_lesson.figure_1("early", 4, 2)] == [0, -1, None, None]


def test_the_lesson_on_a_real_sentence(tmp_path):
    """What docs/lesson-beam.md says of it, and its pictures."""
    trace, text = beam_lesson.real_sentence(1), (ROOT / "docs/lesson-beam.md").read_text("utf-8")
    for rule, updates in trace.rules.items():
        steps = ", ".join(str(u.step) for u in updates)
        differences = ", ".join(f"{u.difference:+.1f}".replace("-", "−") for u in updates)
        assert f"| `{rule}` | {steps} | {differences} |" in text
    assert (ROOT / "docs/pictures/garden-path.svg").read_text("utf-8") == trace.to_svg()
    standard = beam_lesson.figure_1("standard", 3)[2][0]
    assert (ROOT / "docs/pictures/figure-1.svg").read_text("utf-8") == standard.to_svg()
    wide = beam_lesson.real_sentence(4)
    assert wide.prediction == wide.gold
    assert [rule for rule, updates in wide.rules.items() if updates] == ["max-violation", "latest"]


def test_recipes(tmp_path, capsys):
    recipes = module("recipes")
    recipes.main(str(tmp_path / "r.txt"), "40")
    text, gold = (tmp_path / "r.txt").read_text(), (tmp_path / "r.gold.conll").read_text()
    assert text.count("\n") == 40
    rows = [line.split("\t") for line in gold.splitlines() if line]
    assert {label for _, label in rows} == {"B-DISH", "I-DISH", "O"}
    assert "".join(word for word, _ in rows) == "".join(text.split())
    assert "40 sentences" in capsys.readouterr().out


def test_letters_go_where_no_script_has_been(capsys):
    module("lemma_letters").main(size=300)
    lines = capsys.readouterr().out.splitlines()
    scripts, greedy, wide = (float(re.search(r"([\d.]+) % right", line)[1]) for line in lines[1:4])
    assert scripts + 10 < min(greedy, wide)  # with so few words a wide beam is no better than a narrow one
    assert wide > 90
