"""Model files of earlier versions predict what they did.

`PYTHONPATH=tests python tests/io/test_earlier_files.py` writes those of the present version to tests/models/VERSION,
for a release.
"""

import json
from pathlib import Path

import pytest

import structron
from estimators import CASES

FOLDER = Path(__file__).resolve().parent.parent / "models"
VERSIONS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir()) if FOLDER.is_dir() else []
KEPT = [(version, name) for version in VERSIONS for name in CASES]


def file_of(version: str, name: str) -> Path:
    return FOLDER / version / f"{name.replace(', ', '-').replace(' ', '-')}.structron"


def predicted(name: str, model: object) -> list:
    """What a model predicts for the inputs of its case, as JSON has it."""
    found = model.predict(CASES[name].inputs)
    return json.loads(json.dumps([doc.to_json() if hasattr(doc, "to_json") else doc for doc in found], default=str))


@pytest.mark.parametrize(("version", "name"), KEPT, ids=[" ".join(own) for own in KEPT])
def test_a_file_of_an_earlier_version(version, name):
    wanted = json.loads((FOLDER / version / "predictions.json").read_text(encoding="utf-8"))[name]
    found = predicted(name, CASES[name].load(file_of(version, name)))
    assert found
    assert found == wanted[: len(found)]  # some had more sentences to predict then


def test_files_of_every_task_are_kept():
    assert "0.1.0" in VERSIONS


def write() -> None:
    found = {}
    (FOLDER / structron.__version__).mkdir(parents=True)
    for name, case in CASES.items():
        print(name, flush=True)
        model = case.make().fit(case.train)
        model.save(file_of(structron.__version__, name))
        found[name] = predicted(name, model)
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n"
    (FOLDER / structron.__version__ / "predictions.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
