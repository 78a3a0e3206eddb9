"""What every estimator does, whatever its task: parameters, files, checkpoints, threads, runs, and all questions."""

import copy
import inspect
import json
import math
import pickle
import random
import struct
from collections import defaultdict
from dataclasses import fields
from itertools import pairwise
from typing import Any

import pytest
from sklearn.base import clone

import structron
from estimators import CASES, Case, Interrupting, bytes_of, fitted
from structron import Document, StructronError
from structron.cli.tasks import check_able
from structron.features.gazetteer import Gazetteer
from structron.fields import DEFAULT, Option, Options, default_of, options_of
from structron.io import modelfile
from structron.learn.loop import timeless
from structron.tasks.capabilities import ROWS, able, reason
from structron.tasks.options import TASKS as LIGHT
from structron.tasks.registry import TASKS, TRAINABLE
from structron.text.sentences import regroup, sentences_of
from structron.update.violation import RULES, Rule

OWN = ("problem", "queue problem")
KINDS = {case.kind: name for name, case in reversed(CASES.items())}


@pytest.fixture(params=CASES)
def name(request) -> str:
    return request.param


@pytest.fixture
def case(name) -> Case:
    return CASES[name]


@pytest.fixture
def model(name) -> Any:
    return fitted(name)


def untouched():
    """Training data that nobody may look at."""
    raise AssertionError("the data were read")
    yield


# -- parameters ----------------------------------------------------------------------------------------------------


def test_parameters_are_got_and_set(case):
    estimator = case.make()
    given = estimator.get_params()
    assert list(given) == [f.name for f in fields(case.kind.options_class)]
    assert given.items() >= case.options.items()
    assert estimator.set_params(shards=7, seed=5) is estimator
    assert (estimator.shards, estimator.seed) == (7, 5)
    assert case.kind(**estimator.get_params()).get_params() == given | {"shards": 7, "seed": 5}
    with pytest.raises(StructronError, match=f"unknown parameter of {case.kind.__name__} 'colour'; expected one of: "):
        estimator.set_params(colour="blue")
    with pytest.raises(TypeError, match="colour"):
        case.make(colour="blue")


@pytest.mark.parametrize("task", list(TASKS))
def test_an_estimator_has_its_options_and_inherits_little(task):
    kind = TASKS[task]
    ours = [base for base in kind.__mro__ if base.__module__.partition(".")[0] == "structron"]
    assert len(ours) <= 6
    assert not any(issubclass(base, Options) for base in ours)
    assert inspect.signature(kind) == inspect.signature(kind.options_class)
    assert all(f"{name}: {option.help}" in kind.__doc__ for name, option in options_of(kind).items())


def test_options_are_attributes(case):
    estimator = case.make(seed=3)
    assert {name: getattr(estimator, name) for name in options_of(case.kind)}.items() <= estimator.get_params().items()
    estimator.seed = 4
    assert estimator.options.seed == estimator.seed == estimator.get_params()["seed"] == 4
    assert vars(estimator).keys() == {"options"}
    estimator.sead = 5
    assert not hasattr(estimator.options, "sead")
    with pytest.raises(AttributeError, match=f"^'{case.kind.__name__}' object has no attribute 'colour'$"):
        estimator.colour  # noqa: B018
    with pytest.raises(TypeError, match=rf"^{case.kind.__name__}\.__init__\(\) got an unexpected .* 'colour'"):
        case.make(colour="blue")


def test_copies_have_options_of_their_own(case):
    estimator = case.make(seed=3)
    for made in (copy.copy, copy.deepcopy, *([] if case.code else [lambda own: pickle.loads(pickle.dumps(own))])):
        other = made(estimator)
        other.seed = 8
        assert (estimator.seed, other.seed, type(other)) == (3, 8, case.kind)
        assert other.get_params().keys() == estimator.get_params().keys()
    assert not hasattr(case.kind.__new__(case.kind), "seed")


def test_a_training_that_fails_leaves_the_options(case):
    class Failing(case.kind):
        def _train(self, *given):
            self.seed, self.model_ = 9, None
            raise MemoryError

    estimator = Failing(*case.code.values(), **case.options, jobs=2)
    options, before = estimator.options, estimator.get_params()
    with pytest.raises(MemoryError):
        estimator.fit(untouched())
    assert estimator.options is options
    assert estimator.get_params() == before
    assert not hasattr(estimator, "model_")


def test_what_is_printed_differs_from_the_defaults(name, case):
    estimator = case.make(seed=4)
    if name not in OWN:
        again = eval(repr(estimator), vars(structron) | {case.kind.__name__: case.kind})
        assert again.get_params() == estimator.get_params()
        assert repr(case.kind()) == f"{case.kind.__name__}()"
    assert "seed=4" in repr(estimator)
    assert "average" not in repr(estimator)


def test_clones_are_untrained_and_alike(case, model):
    cloned = clone(model)
    assert not hasattr(cloned, "model_")
    ours, theirs = model.get_params(), cloned.get_params()
    assert ours.keys() == theirs.keys()
    assert all(theirs[key] == value for key, value in ours.items() if key not in case.code)


def wrong(option: Option) -> Any:
    """A value that an option cannot have."""
    if option.kind == "whole":
        return 1.5 if option.least is None else int(option.least) - 1
    return {"real": float("nan"), "switch": 7, "choice": "blue"}[option.kind]


def test_options_out_of_range_are_refused_before_data_are_read(case):
    for name, option in options_of(case.kind).items():
        if option.kind not in ("whole", "real", "switch", "choice"):
            continue
        for bad in (wrong(option), [], "much"):
            with pytest.raises(StructronError, match=f"^(unknown )?{name}") as caught:
                case.make(**{name: bad}).fit(untouched())
            assert "; expected " in str(caught.value)
            assert "\n" not in str(caught.value)


def test_everything_but_the_data_is_given_by_keyword(case):
    data = {"self", "sentences", "sentence", "n", "label", "path", "deep"}
    for method in ("fit", "partial_fit", "predict", "nbest", "evaluate", "score", "inspect", "explain", "save"):
        parameters = inspect.signature(getattr(case.kind, method)).parameters.values()
        by_place = {p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)}
        assert by_place <= data, method
    assert all(f.kw_only or f.name == "problem" for f in fields(case.kind.options_class))


# -- before, and when it fails -------------------------------------------------------------------------------------


def test_nothing_works_before_training(case, tmp_path):
    estimator = case.make()
    for use in (
        lambda: estimator.predict(case.inputs),
        lambda: estimator.nbest(case.inputs, 2),
        lambda: estimator.evaluate(case.test),
        lambda: estimator.score(case.test),
        lambda: estimator.inspect(),
        lambda: estimator.explain(case.inputs[0]),
        lambda: estimator.save(tmp_path / "m"),
    ):
        with pytest.raises(StructronError, match=f"this {case.kind.__name__} is not trained yet; call fit first"):
            use()
    assert not (tmp_path / "m").exists()


def test_training_that_fails_changes_nothing(case, model):
    def broken():
        yield case.train[0]
        raise OSError("the disk is gone")

    for estimator in (case.make(), copy.copy(model)):
        before = dict(vars(estimator))
        for train in (estimator.fit, *([estimator.partial_fit] if case.goes_on else [])):
            with pytest.raises(StructronError, match=r"training data: no (sentences|examples); expected "):
                train([])
            with pytest.raises(StructronError):
                train([*case.train[:2], 7])
            with pytest.raises(StructronError):
                train(case.train, dev=[7])
            with pytest.raises(OSError, match="the disk is gone"):
                train(broken())
        assert vars(estimator) == before


# -- files ---------------------------------------------------------------------------------------------------------


def test_training_again_gives_the_same_file(case, model, tmp_path):
    again = case.make().fit(iter(case.train))
    assert bytes_of(again, tmp_path / "a") == bytes_of(model, tmp_path / "b")
    other = case.make(seed=2).fit(case.train)
    assert bytes_of(other, tmp_path / "c") != bytes_of(model, tmp_path / "d")


def test_a_file_gives_the_estimator_back(case, model, tmp_path):
    model.save(tmp_path / "m")
    again = case.load(tmp_path / "m")
    assert type(again) is case.kind
    assert again.predict(case.inputs) == model.predict(case.inputs)
    if case.able("nbest"):
        assert again.nbest(case.inputs[:2], 2) == model.nbest(case.inputs[:2], 2)
    if case.able("inspect"):
        assert again.inspect(top=3) == model.inspect(top=3)
    settled = dict.fromkeys(("columns", "label", "pos"))
    assert again._stored() | settled == model._stored() | settled
    for name in ("signature_", "history_", "best_pass_", "stopped_"):
        assert getattr(again, name) == timeless(getattr(model, name))
    assert all(record["updates"] >= 0 for record in again.history_ if case.kind.task != "pipeline")
    again.save(tmp_path / "again")
    model.save(tmp_path / "twice")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes() == (tmp_path / "twice").read_bytes()
    again.keep_learner_ = False
    assert bytes_of(again.fit(case.train), tmp_path / "r") == bytes_of(model, tmp_path / "s")
    assert not hasattr(again, "learner_")


def places(data: bytes) -> list[int]:
    """Where to cut a file: every kind of place, from the length to the last byte."""
    (length,) = struct.unpack("<Q", data[:8])
    found = {0, 1, 7, 8, 9, 8 + length // 2, 8 + length - 1, 8 + length, 9 + length, len(data) - 1}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            found |= {8 + length + offset for offset in entry["data_offsets"]}
    return sorted(place for place in found if place < len(data))


def test_files_cut_off_or_changed_are_refused_in_one_line(case, model, tmp_path):
    path = tmp_path / "odd"
    model.save(path)
    data, dice = path.read_bytes(), random.Random(2012)
    changed = [data[:place] for place in places(data)]
    for _ in range(12):
        one = bytearray(data)
        one[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        changed.append(bytes(one))
    refused = []
    for content in [*changed, b"", b"The dog barks.\n", b"\0" * 99]:
        path.write_bytes(content)
        try:
            found = case.load(path).predict(case.inputs[:2])
        except StructronError as error:
            refused.append(str(error))
        else:
            assert found == model.predict(case.inputs[:2])
    assert len(refused) > len(changed)
    assert all(text.startswith(f"{path}: ") and "\n" not in text for text in refused)
    for missing in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(StructronError, match=f"^{missing}: "):
            case.load(missing)


def test_a_file_of_another_task(name, case, tmp_path):
    other = "tagger" if "chunker" in name else "chunker"
    fitted(other).save(tmp_path / "m")
    with pytest.raises(StructronError, match=f"m: a {other} model; expected a {case.kind.task} model"):
        structron.load(tmp_path / "m", task=case.kind.task)


def test_pickles_hold_the_model_and_no_training_data(name, case, model):
    data = pickle.dumps(model)
    again = pickle.loads(data)
    assert not hasattr(again, "learner_")
    assert again.predict(case.inputs) == model.predict(case.inputs)
    if case.able("nbest"):
        assert again.nbest(case.inputs[:1], 2) == model.nbest(case.inputs[:1], 2)


@pytest.mark.parametrize("scored", [False, True], ids=["alone", "dev"])
def test_a_longer_run_goes_on_from_a_shorter_one(case, scored, tmp_path):
    if not case.able("passes"):
        return
    given = {"dev": case.test} if scored else {}
    whole = case.make(passes=3).fit(case.train, **given)
    case.make(passes=1).fit(case.train, checkpoint=tmp_path / "c", **given)
    again = case.make(passes=3).fit(case.train, checkpoint=tmp_path / "c", resume=True, **given)
    assert bytes_of(again, tmp_path / "a") == bytes_of(whole, tmp_path / "b")


@pytest.mark.parametrize("scored", [False, True], ids=["alone", "dev"])
def test_a_resumed_run_ends_with_the_same_file(case, scored, tmp_path):
    given = {"dev": case.test} if scored else {}
    longer = {"passes": 3} if case.able("passes") else {}
    whole = case.make(**longer).fit(case.train, **given)
    stopped = case.make().fit(case.train, checkpoint=tmp_path / "c", progress=Interrupting(2), **given)
    assert stopped.stopped_ == "interrupted"
    again = case.make(**longer)
    with pytest.raises(StructronError, match="--resume"):
        again.fit(case.train, checkpoint=tmp_path / "c", **given)
    with pytest.raises(StructronError, match="other data"):
        again.fit(case.train[:-1], checkpoint=tmp_path / "c", resume=True, **given)
    again.fit(case.train, checkpoint=tmp_path / "c", resume=True, **given)
    assert bytes_of(again, tmp_path / "a") == bytes_of(whole, tmp_path / "b")


# -- learning ------------------------------------------------------------------------------------------------------


def test_two_runs_are_averaged(case, model, tmp_path):
    if not case.able("runs"):
        return
    two = case.make(runs=2).fit(case.train)
    assert " | runs 2 | " in two.signature_
    assert two.history_[0]["tokens"] == 2 * model.history_[0]["tokens"]
    assert bytes_of(two, tmp_path / "a") != bytes_of(model, tmp_path / "b")
    assert two.score(case.train) > model.score(case.train) - 5


def test_runs_on_two_threads_learn_the_same(case, tmp_path):
    runs = {"runs": 2} if case.able("runs") else {}
    one, two = (case.make(jobs=jobs, **runs).fit(case.train, dev=case.test) for jobs in (1, 2))
    assert bytes_of(one, tmp_path / "a") == bytes_of(two, tmp_path / "b")


def test_going_on_with_more_data(case, model, tmp_path):
    """From nothing, from a model in memory and from one in a file; what was known is kept, what is new is added. A copy
    that was made before stays as it was."""
    if not case.able("partial_fit"):
        for estimator in (case.make(), copy.copy(model)):
            with pytest.raises(StructronError, match=f"{case.kind.task}: no partial_fit: ") as caught:
                estimator.partial_fit(untouched())
            assert case.kind.lacks["partial_fit"] in str(caught.value)
        return
    fresh = case.make().partial_fit(case.train)
    assert bytes_of(fresh, tmp_path / "a") == bytes_of(model, tmp_path / "b")
    if not case.goes_on:
        with pytest.raises(StructronError, match="training cannot continue from a model with seen; expected "):
            fresh.partial_fit(case.train)
        return
    model.save(tmp_path / "m")
    more = case.new(case.data(24, 5)) if case.new else case.data(24, 5)
    untouched_copy, as_it_was = copy.copy(fresh), bytes_of(fresh, tmp_path / "a")
    for estimator in (fresh, case.load(tmp_path / "m")):
        known, before = list(case.labels(estimator.model_)), estimator.score(case.train)
        estimator.partial_fit(more)
        found = case.labels(estimator.model_)
        assert [label for label in found if label in set(known)] == known
        assert (len(found) > len(known)) is (case.new is not None)
        assert estimator.score(more) > 45
        assert estimator.score(case.train) > before - 75
        estimator.save(tmp_path / "n")
        assert case.load(tmp_path / "n").predict(case.inputs) == estimator.predict(case.inputs)
    assert bytes_of(untouched_copy, tmp_path / "a") == as_it_was


@pytest.mark.parametrize("update", [*RULES, Rule(RULES["latest"].choose)], ids=[*RULES, "own"])
@pytest.mark.parametrize("name", ["tagger", "chunker, beam", "segments", "joint", "parser", "problem"])
def test_every_rule_learns(case, update, tmp_path):
    """Valid ones from violations only; a file keeps the name of a user's own."""
    model = case.make(update=update, beam=2, alma=None, check=True, passes=5).fit(case.train)
    rule = update if isinstance(update, str) else "latest"
    assert f"| update {rule}" in model.signature_
    assert " | search beam-2-dp | " in model.signature_
    assert model.score(case.train) > 60
    assert {"updates", "invalid", "fell_off", "fell_at", "search_errors"} <= model.history_[-1].keys()
    assert not RULES[rule].valid or model.history_[-1]["invalid"] == 0
    model.save(tmp_path / "m")
    assert case.load(tmp_path / "m").update == rule


# -- questions -----------------------------------------------------------------------------------------------------


def test_threads_change_nothing(case, model, monkeypatch):
    monkeypatch.setattr("structron.runtime.threads.BATCH_TOKENS", 20)
    monkeypatch.setattr("structron.runtime.threads.LEAST_TOKENS", 20)
    monkeypatch.setattr("structron.runtime.threads.LEAST_SENTENCES", 1)
    monkeypatch.setattr("structron.runtime.threads.MOST_SENTENCES", 3)
    assert model.predict(case.inputs, jobs=2) == model.predict(case.inputs)
    if case.able("nbest"):
        assert model.nbest(case.inputs, 2, jobs=2) == model.nbest(case.inputs, 2)
    assert model.evaluate(case.test, jobs=2) == model.evaluate(case.test)
    for jobs in (0, -1, 1.5):
        with pytest.raises(StructronError, match=f"jobs: {jobs};"):
            model.predict(case.inputs, jobs=jobs)


def test_nothing_to_predict_in_texts(case, model):
    if not case.kind.texts:
        return
    first = case.inputs[0]
    assert model.predict([]) == []
    empty, *found, last = model.predict(["", first, " \n"])
    assert found == model.predict([first])
    assert [(doc.text, doc.sentences, doc.spaces_before) for doc in (empty, last)] == [("", [], ""), (" \n", [], " \n")]
    assert model.evaluate([]) is not None
    again = case.make().fit([structron.Doc(""), *case.train, structron.Doc("")])
    assert [doc.text for doc in again.predict([first, ""])] == [first, ""]


def test_what_is_no_text_is_refused(case, model):
    if case.kind.texts:
        for wrong in (7, None, b"bytes", ["a"]):
            with pytest.raises(StructronError, match=r"data: text 2 is .*; expected a string or a Doc"):
                model.predict(["A text.", wrong])


def test_nothing_to_predict(name, case, model):
    if case.kind.texts:
        return
    assert model.predict([]) == model.nbest([], 2) == model.predict_columns([]) == []
    first = case.inputs[0]
    assert model.predict([[], first, []]) == [[], *model.predict([first]), []]
    assert [len(found) for found in model.nbest([[], first], 2)] == [1, 2]
    assert model.explain([]) == []
    assert model.evaluate([]) is not None
    if name not in OWN:
        assert case.make(passes=1).fit([[], *case.train[:5], []]).predict([[], first])[0] == []
        assert model.score([[], *case.test]) == model.score(case.test)
    if name == "entities":
        assert model.predict([Document(), Document([[]])]) == [[], [[]]]


def test_the_best_of_the_list_is_the_prediction(name, case, model):
    """A queue gives goals in the order in which it comes to them."""
    if not case.able("nbest"):
        with pytest.raises(StructronError, match=f"{case.kind.task}: no nbest: {case.kind.lacks['nbest']}"):
            model.nbest(case.inputs, 2)
        return
    for found, best in zip(model.nbest(case.inputs, 3), model.predict(case.inputs), strict=True):
        predictions, scores = zip(*found, strict=True)
        assert predictions[0] == best
        assert name == "queue problem" or all(a >= b for a, b in pairwise(scores))
        assert len({str(prediction) for prediction in predictions}) == len(found) <= 3
    assert model.nbest(case.inputs, 1) == [found[:1] for found in model.nbest(case.inputs, 3)]
    for n in (0, -1, 2.5, True, None, 10_001, 10**30):
        with pytest.raises(StructronError, match=f"n-best: {n};"):
            model.nbest(case.inputs, n)


def test_lists_longer_than_what_there_is(case, model):
    if not case.able("nbest"):
        return
    first = case.inputs[0]
    few = model.nbest([Document([first[0][:1]]) if isinstance(first, Document) else first[:1]], 1_000)[0]
    assert 1 <= len(few) < 200
    assert len({str(prediction) for prediction, _ in few}) == len(few)


def test_scores_are_per_cent_and_agree(case, model):
    scores = model.evaluate(case.train)
    assert getattr(scores, model.metric) == model.score(case.train)
    assert 60 < model.score(case.train) <= 100
    assert 0 <= model.score(case.test) <= model.score(case.train)
    assert model.evaluate(case.test, guess=model.predict(case.inputs)) == model.evaluate(case.test)
    gold = regroup(case.test, model._gold(case.test)) if case.kind.documents else model._gold(case.test)
    assert getattr(model.evaluate(case.test, guess=gold), model.metric) == 100
    assert scores.report()
    assert scores.as_dict()[model.metric] == pytest.approx(model.score(case.train))


def test_heaviest_features(case, model):
    if not case.able("inspect"):
        with pytest.raises(StructronError, match=f"{case.kind.task}: no inspect: {case.kind.lacks['inspect']}"):
            model.inspect()
        return
    found = model.inspect(top=4)
    for label, weights in found.labels.items():
        assert len(weights) <= 4
        sizes = [abs(weight.weight) for weight in weights]
        assert sizes == sorted(sizes, reverse=True)
        assert all(weight.label == label for weight in weights)
    assert max(map(len, found.labels.values())) == 4
    label = next(label for label, weights in found.labels.items() if weights)
    assert model.inspect(label, top=4).labels[label] == found.labels[label]
    with pytest.raises(StructronError, match=r"^unknown .* 'colour'; expected one of: "):
        model.inspect("colour")


def test_decisions_have_reasons(name, case, model):
    """The heaviest come first; all of them together are the margin, and all steps of a search its score."""
    if not case.able("explain"):
        with pytest.raises(StructronError, match=f"{case.kind.task}: no explain: {case.kind.lacks['explain']}"):
            model.explain(case.inputs[0])
        return
    sentence = case.inputs[0][0] if isinstance(case.inputs[0], Document) else case.inputs[0]
    found = model.explain(sentence, top=2)
    assert found
    assert all(len(step.because) <= 2 for step in found)
    assert all(str(step) for step in found)
    every = model.explain(sentence, top=10**6)
    assert [step.because for step in found] == [step.because[:2] for step in every]
    for step in every:
        weights = [reason.weight for reason in step.because]
        assert weights == sorted(weights, key=abs, reverse=True)
        if getattr(step, "margin", None) == math.inf:
            assert step.runner_up is None
        elif name != "graph-parser":  # the relations of its trees are chosen once more
            assert sum(weights) == pytest.approx(step.margin or 0.0, abs=1e-3)
    if hasattr(every[0], "score"):
        assert sum(step.score for step in every) == pytest.approx(model.nbest([sentence], 1)[0][0][1], rel=1e-5)


def test_predictions_as_columns(name, case, model):
    if case.kind.texts:
        return
    for columns, prediction in zip(model.predict_columns(case.inputs), model.predict(case.inputs), strict=True):
        assert len(columns) == (1 if name in OWN else len(model.roles_.outputs))
        assert all(len(column) == len(prediction) for column in columns)
        rows = list(zip(*columns, strict=True))
        assert [tuple(map(str, x)) if isinstance(x, tuple) else (x,) for x in prediction] == rows


# -- capabilities --------------------------------------------------------------------------------------------------


def runs_with(kind: Any, what: str) -> dict[str, Any] | None:
    """The options of a tiny training that uses something; None: it is a method."""
    case = CASES[KINDS[kind]]
    return {
        "beam": {"beam": 2},
        "update": {"update": "early", "beam": 2, "alma": None},
        "merge": {"merge": False, "beam": 2},
        "alma": {"alma": 0.5},
        "margin": {"margin": 2.0, "alma": None},
        "swvp": {"swvp": "b-wm", "beta": 2.0},
        "runs": {"runs": 2},
        "shards": {"shards": 2},
        "average voted": {"average": "voted"},
        "bpm": {"bpm": 2},
        "templates": {"templates": case.templates or ["w[0]"]},
        "gazetteers": {"gazetteers": {"THE": Gazetteer.from_phrases("THE", ["the"])}},
        "clusters": {"clusters": {"the": "01", "a": "00"}},
        "lexicon": {"lexicon": [("the", "the", "DET"), ("dogs", "dog", "NOUN", "NNS", "Number=Plur")]},
        "tag_dictionary": {"tag_dictionary": 1},
        "non_local": {"non_local": ["phrase"]},
        "jobs": {"jobs": 2},
        "open_label": {"open_label": "?"},
    }.get(what)


METHODS = {
    "partial_fit": lambda model, case: model.partial_fit(case.train[:3]),
    "nbest": lambda model, case: model.nbest(case.inputs[:2], 2),
    "confidence": lambda model, case: model.predict_with_margins(case.inputs[:2]),
    "forced": lambda model, case: model.predict(case.inputs[:1], forced=model.predict(case.inputs[:1])),
    "inspect": lambda model, case: model.inspect(),
    "explain": lambda model, case: model.explain(case.inputs[0][0] if model.documents else case.inputs[0]),
}


@pytest.mark.parametrize("name", ["tagger", "chunker, beam", "entities", "joint"])
def test_words_keep_to_the_labels_of_the_dictionary(case):
    model = case.make(tag_dictionary=1).fit(case.train)
    seen, place = defaultdict(set), model.roles_.names.index(model.roles_.outputs[0])
    for row in (row for sentence in sentences_of(case.train) for row in sentence):
        seen[row[0]].add(row[place])
    sentences = sentences_of(case.inputs)
    for sentence, (labels, *_) in zip(sentences, model.predict_columns(sentences), strict=True):
        assert all(label in seen.get(row[0], {label}) for row, label in zip(sentence, labels, strict=True))


@pytest.mark.parametrize("what", ROWS.values())
@pytest.mark.parametrize("task", TRAINABLE)
def test_every_cell_of_the_capability_table(task, what, tmp_path):
    kind = TASKS[task]
    case = CASES[KINDS[kind]]
    given = runs_with(kind, what)
    if not able(kind, what):
        why = reason(kind, what)
        assert why
        with pytest.raises(StructronError, match="--x: not available for") as caught:
            check_able(kind, "--x", what)
        assert f"({why})" in str(caught.value)
        if given is not None and set(given) <= set(options_of(kind)):
            with pytest.raises(StructronError, match="not available") as caught:
                case.make(**given).fit(untouched())
            assert f"({why})" in str(caught.value)
        elif given is not None:
            with pytest.raises(TypeError, match="unexpected keyword"):
                case.make(**given)
        return
    if given is None:
        assert METHODS[what](copy.copy(fitted(KINDS[kind])), case)
        return
    plain = case.options | ({"passes": 2} if case.able("passes") else {})
    if what == "non_local" or (kind is structron.EntityRecognizer and what in ("beam", "merge")):
        plain.pop("beam", None)
    given = {name: value for name, value in given.items() if name in options_of(kind)}
    model = kind(**plain | given).fit(case.train)
    assert len(model.predict(case.inputs)) == len(case.inputs)
    if what == "gazetteers":
        marking = model.part("entities") if task == "pipeline" else model
        assert "gaz_THE[0]" in map(str, marking.extractor_.templates)
    if what in ("clusters", "lexicon"):
        assert f"{what} {model.tables_[what].label}" in model.signature_
    model.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert again.predict(case.inputs) == model.predict(case.inputs)
    if what == "clusters" and task == "pipeline":  # one table for all parts
        assert again.part("tagger").clusters_ is again.part("parser").clusters_ is again.clusters_
        names = [name for name in modelfile.load(tmp_path / "m")[1] if "clusters" in name]
        assert sorted(names) == ["clusters_keys", "clusters_numbers", "clusters_paths"]
    if what == "lexicon" and task == "pipeline":
        parts = [again.part(name).lexicon_ for name in ("tagger", "lemmatizer")]
        assert [own is again.lexicon_ for own in parts] == [True, True]
        names = [name for name in modelfile.load(tmp_path / "m")[1] if "lexicon_" in name]
        assert sorted(names) == ["lexicon_entries", "lexicon_keys", "lexicon_numbers"]


@pytest.mark.parametrize("task", TASKS)
def test_no_option_is_there_only_to_be_refused(task):
    kind = TASKS[task]
    assert not kind.lacks.keys() & options_of(kind).keys()
    assert all(options_of(kind)[name].flag is None for name in kind.flagless)


@pytest.mark.parametrize("task", TRAINABLE)
def test_the_command_line_reads_the_options_of_the_class(task):
    assert TASKS[task].options_class is LIGHT[task]
    assert options_of(TASKS[task]) == options_of(LIGHT[task])
    assert LIGHT[task]().get_params() == TASKS[task]().get_params()


def test_defaults_that_depend_on_others_are_options(case):
    """`default` is only taken where it is the default."""
    for name, option in options_of(case.kind).items():
        if option.kind in ("whole", "real", "choice") and default_of(case.kind, name) != DEFAULT:
            with pytest.raises(StructronError, match=f"^(unknown )?{name}"):
                case.make(**{name: DEFAULT}).fit(untouched())
