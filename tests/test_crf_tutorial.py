"""The tutorial of sklearn-crfsuite, word for word but for the import, runs to its end."""

import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import CORPORA
from structron.data.toy_english import toy_english
from structron.io import read

nltk = pytest.importorskip("nltk")
matplotlib = pytest.importorskip("matplotlib")

TUTORIAL = Path(__file__).parent / "sklearn_crfsuite_tutorial.txt"
IMPORT = {
    "import sklearn_crfsuite\n": "import structron.sklearn as sklearn_crfsuite\n",
    "from sklearn_crfsuite import scorers\n": "from structron.sklearn import scorers\n",
    "from sklearn_crfsuite import metrics\n": "from structron.sklearn import metrics\n",
}
TODAY = {
    "from sklearn.cross_validation import": "from sklearn.model_selection import",
    "from sklearn.grid_search import": "from sklearn.model_selection import",
    "s.parameters['c1'] for s in rs.grid_scores_": "s['c1'] for s in rs.cv_results_['params']",
    "s.parameters['c2'] for s in rs.grid_scores_": "s['c2'] for s in rs.cv_results_['params']",
    "s.mean_validation_score for s in rs.grid_scores_": "s for s in rs.cv_results_['mean_test_score']",
}
"""What scikit-learn has renamed since: without it the tutorial runs with no library."""
KEPT = {"crf.fit(X_train, y_train)": "first = crf.fit(X_train, y_train)"}
QUICK = {"n_iter=50": "n_iter=2", "n_jobs=-1": "n_jobs=1"}


def cells(*changes: dict[str, str]) -> list[str]:
    """The tutorial's cells, without the notebook's own commands."""
    text = TUTORIAL.read_text(encoding="utf-8")
    for change in changes:
        for old, new in change.items():
            assert text.count(old) == 1
            text = text.replace(old, new)
    found = text.split("\n# ---\n")[1:]
    return [re.sub(r"^%.*\n", "", cell.strip() + "\n", flags=re.MULTILINE) for cell in found]


def run(monkeypatch, sentences: dict[str, list], *changes: dict[str, str]) -> dict:
    """Run all cells on other data than NLTK's, which would have to be downloaded."""
    corpus = SimpleNamespace(fileids=lambda: list(sentences), iob_sents=sentences.__getitem__)
    monkeypatch.setattr(nltk.corpus, "conll2002", corpus)
    matplotlib.use("agg")
    names: dict = {}
    for cell in cells(*changes):
        exec(compile(cell, str(TUTORIAL), "exec"), names)
    return names


def test_the_tutorial_runs_on_generated_sentences(monkeypatch, capsys):
    """Its only warning says what is trained."""
    rows = [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in toy_english(240, seed=4)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names = run(monkeypatch, {"esp.train": rows[:160], "esp.testb": rows[160:]}, IMPORT, TODAY, QUICK)
    assert {str(w.message).split(" (")[0] for w in caught if "structron" in w.category.__module__} == {
        "algorithm lbfgs: the averaged perceptron is trained"
    }
    assert type(names["crf"]).__module__ == "structron.sklearn.crf"
    assert names["rs"].best_params_.keys() == {"c1", "c2"}
    assert len(names["rs"].cv_results_["params"]) == 2
    assert names["rs"].best_score_ > 0.9
    shown = capsys.readouterr().out
    assert re.search(r"B-NP +-> I-NP +\d+\.\d{6}", shown)
    assert re.search(r"model size: 0\.\d\dM", shown)
    assert "Top unlikely transitions" in shown


def entities(split: str) -> list:
    lines = read(CORPORA / "conll2002-dutch" / f"{split}.conll.gz")
    return [[tuple(row) for row in sentence.rows if row[0] != "-DOCSTART-"] for sentence in lines]


@pytest.mark.corpora
@pytest.mark.slow
def test_on_dutch_newspapers_it_labels_as_well_as_crfsuite(monkeypatch, tmp_path):
    """The other language of CoNLL 2002, 1,500 sentences of it; CRFsuite is trained as the tutorial does."""
    crfsuite = pytest.importorskip("pycrfsuite")
    data = {"esp.train": entities("train")[:1500], "esp.testb": entities("dev")}
    names = run(monkeypatch, data, IMPORT, TODAY, QUICK, KEPT)
    trainer = crfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True})
    for x, y in zip(names["X_train"], names["y_train"], strict=True):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "theirs"))
    tagger = crfsuite.Tagger()
    tagger.open(str(tmp_path / "theirs"))
    theirs, ours = list(map(tagger.tag, names["X_test"])), names["first"].predict(names["X_test"])
    score = {"average": "weighted", "labels": names["labels"]}
    flat_f1 = names["metrics"].flat_f1_score
    assert flat_f1(names["y_test"], ours, **score) > flat_f1(names["y_test"], theirs, **score) - 0.005
