"""The JSON API says what the models say; what is wrong with a request is one clear line."""

import copy
import json
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from serving import GOLD, HOSTILE, Asked

from structron import load
from structron.serve.app import STATIC, make_app
from structron.serve.library import Library
from structron.serve.limits import Limits

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Dr. Smith didn't sleep. He flew to Paris."


def ok(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()


def words_of(sentence: dict) -> list[dict]:
    names = ("form", "lemma", "upos", "xpos", "feats")
    return [{name: word[name] for name in names} for token in sentence["tokens"] for word in token["words"]]


def test_annotate_is_what_the_pipeline_finds(client, library):
    found = ok(client.post("/api/annotate", json={"text": TEXT, "model": "english"}))
    direct = library.models["english"].estimator(TEXT)
    for sentence in found["sentences"]:
        assert sentence.pop("chunks") == []
        assert sentence.pop("margins") == []
    assert {name: found[name] for name in ("text", "spaces_before", "sentences")} == direct.to_json()
    assert found["conllu"] == direct.to_conllu()
    assert ok(client.post("/api/annotate", json={"text": TEXT}))["conllu"] == direct.to_conllu()


def test_requests_at_the_same_time_do_not_disturb_each_other(client, library):
    nlp = library.models["english"].estimator
    texts = [f"He saw {number} old dogs in Paris. {'She ran. ' * number}" for number in range(14)]
    found = client.together("POST", "/api/annotate", [{"text": text} for text in texts])
    assert [ok(answer)["conllu"] for answer in found] == [nlp(text).to_conllu() for text in texts]


def test_the_options_of_a_pipeline_hold_for_requests(library):
    """Those of each model, though two share the parts."""
    usual = library.models["english"]
    fast = replace(usual, name="fast", estimator=copy.copy(usual.estimator).set_params(fast=True, lines=True))
    client = Asked(make_app(Library(models={"usual": usual, "fast": fast})))
    texts = ["The man who saw the old dog that she fed ran\nShe thinks that he slept in the park by the river\n"] * 8
    found = client.together(
        "POST", "/api/annotate", [{"text": t, "model": m} for t in texts for m in ("fast", "usual")]
    )
    assert [ok(answer)["conllu"] for answer in found] == [
        own.estimator(text).to_conllu() for text in texts for own in (fast, usual)
    ]
    tokens = ok(client.post("/process", data={"data": texts[0], "model": "fast", "tokenizer": ""}))["result"]
    assert tokens.count("# newpar") == 2
    assert usual.parts["parser"].beam == fast.parts["parser"].beam


def test_margins_are_those_of_the_tagger(client, library):
    found = ok(client.post("/api/annotate", json={"text": TEXT, "margins": True}))
    tagger = library.models["english"].parts["tagger"]
    rows = [[(word["form"],) for word in words_of(sentence)] for sentence in found["sentences"]]
    direct = tagger.predict_with_margins(rows)[1]
    assert [own["margins"] for own in found["sentences"]] == [pytest.approx(own) for own in direct]


def test_models_of_tokens_read_columns_after_slashes(client, library):
    text = "The/DT old/JJ man/NN sleeps/VBZ ./.\nHe/PRP ran/VBD"
    found = ok(client.post("/api/annotate", json={"text": text, "model": "chunker", "margins": True}))
    rows = [[token.rsplit("/", 1) for token in line.split()] for line in text.splitlines()]
    labels, margins = library.models["chunker"].estimator.predict_with_margins(rows)
    assert [[word["misc"] for t in s["tokens"] for word in t["words"]] for s in found["sentences"]] == [
        [f"Chunk={label}" for label in own] for own in labels
    ]
    assert found["sentences"][0]["chunks"][0]["label"] == labels[0][0][2:]
    assert found["sentences"][0]["margins"] == pytest.approx(margins[0])
    assert found["supplied_by"] is None
    supplied = ok(client.post("/api/annotate", json={"text": "The old man sleeps.", "model": "chunker"}))
    assert supplied["supplied_by"] == "english"
    assert words_of(supplied["sentences"][0])[1]["xpos"] == "JJ"


@pytest.mark.parametrize("part", ["tagger", "morphology", "lemmatizer", "parser", "entities"])
def test_explanations_are_those_of_the_parts(client, library, part):
    sentence = ok(client.post("/api/annotate", json={"text": "He flew to Paris."}))["sentences"][0]
    found = ok(client.post("/api/explain", json={"words": words_of(sentence), "part": part, "top": 3}))["decisions"]
    assert all(len(own["because"]) <= 3 for own in found)
    if part == "lemmatizer":
        lemmas = [word["lemma"] for word in words_of(sentence)]
        assert [own["chosen"].partition(": ")[0] for own in found] == lemmas
        assert found[1]["chosen"] == "fly: -ew becomes -y"
    if part != "parser":
        assert [own["word"] for own in found] == list(range(5))
        return
    attached = {own["word"] for own in found if own["word"] is not None}
    heads = [word["head"] for token in sentence["tokens"] for word in token["words"]]
    assert attached == {k for k, head in enumerate(heads) if head}
    chosen = {own["word"]: own["chosen"] for own in found if own["word"] is not None}
    relations = [word["deprel"] for token in sentence["tokens"] for word in token["words"]]
    assert all(chosen[k].endswith(f":{relations[k]}") for k in attached)


def test_the_heaviest_features_can_be_searched(client):
    path = "/api/models/chunker/features"
    label = ok(client.get("/api/models/chunker"))["parts"][0]["labels"][0]
    found = ok(client.get(path, params={"label": label, "top": 5}))["labels"][label]
    assert len(found) == 5
    weights = [abs(own["weight"]) for own in found]
    assert weights == sorted(weights, reverse=True)
    searched = ok(client.get(path, params={"label": label, "search": "POS[0]"}))["labels"][label]
    assert searched
    assert all("pos[0]" in own["feature"] for own in searched)
    assert client.get(path, params={"label": "nothing"}).status_code == 422


def test_a_model_tells_its_labels_history_and_options(client, library):
    found = ok(client.get("/api/models/beam"))
    part = found["parts"][0]
    estimator = library.models["beam"].estimator
    assert part["signature"] == estimator.signature_
    assert [own["dev"] for own in part["history"]] == [own["dev"] for own in estimator.history_]
    assert part["options"]["beam"] == "2"
    assert part["labels"] == list(estimator.model_.labels)
    assert {own["name"]: own["beam"] for own in ok(client.get("/api/models"))[0]["parts"]}["parser"]


def test_the_beam_is_the_trace_of_the_engine(client, library):
    rows = "The\tDT\nold\tJJ\nman\tVBP\nthe\tDT\nboat\tNN\n"
    found = ok(client.post("/api/beam", json={"model": "beam", "sentence": rows, "beam": 3}))
    direct = library.models["beam"].estimator.trace([line.split("\t") for line in rows.splitlines()], True, beam=3)
    expected = json.loads(json.dumps(direct.to_json()))
    assert found["steps"] == expected["steps"]
    assert found["annotated"]
    for name, rule in expected["rules"].items():
        assert found["rules"][name]["step"] == rule["step"]
        assert found["rules"][name]["features"] == rule["features"][:200]
        assert found["rules"][name]["changed"] == len(rule["features"])
    plain = ok(client.post("/api/beam", json={"model": "beam", "sentence": "The old man", "beam": 3}))
    assert not plain["annotated"]
    assert plain["rules"] == {}
    two = client.post("/api/beam", json={"model": "beam", "sentence": f"{rows}\n{rows}"})
    assert two.status_code == 422
    assert "2 sentences" in two.json()["detail"]
    exact = client.post("/api/beam", json={"model": "one", "sentence": rows})
    assert exact.status_code == 422


def test_two_models_are_compared_on_a_file_or_a_text(client, library, folder):
    found = ok(client.post("/api/compare", json={"a": "one", "b": "two", "data": "test"}))
    text = (folder / "test.conll").read_text()
    assert found == ok(client.post("/api/compare", json={"a": "one", "b": "two", "text": text}))
    for model, scores in zip(("one", "two"), found["scores"], strict=True):
        rows = [[line.split() for line in block.splitlines()] for block in text.strip().split("\n\n")]
        rows = [[row for row in own if row[0] != "-DOCSTART-"] for own in rows]
        direct = library.models[model].estimator.evaluate([own for own in rows if own])
        assert scores["accuracy"] == pytest.approx(direct.accuracy)
    assert 0 <= found["p"] <= 1
    assert found["differences"]
    assert all(own["a"] != own["b"] for own in found["differences"])
    assert client.post("/api/compare", json={"a": "one", "b": "chunker", "data": "test"}).status_code == 422
    assert client.post("/api/compare", json={"a": "one", "b": "two"}).status_code == 422
    assert client.post("/api/compare", json={"a": "one", "b": "two", "data": "../test"}).status_code == 404


def test_logs_and_files_are_those_that_were_named(client):
    found = ok(client.get("/api/training/train"))
    assert [own["pass"] for own in found["passes"]] == [1, 2, 3]
    assert [own["pass"] for own in ok(client.get("/api/training/train?after=2"))["passes"]] == [3]
    assert ok(client.get("/api/training/later"))["passes"] == []
    assert [own["name"] for own in ok(client.get("/api/data"))] == ["test", HOSTILE]
    some = ok(client.get("/api/data/test?first=1&count=2"))
    assert len(some["sentences"]) == 2
    for path in ("/api/training/..%2Ftrain", "/api/data/%2Fetc%2Fpasswd", "/api/models/..%2F..%2Fetc%2Fpasswd"):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd",
        "/static//etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_static_files(client, path):
    assert client.get(path).status_code == 404


def test_every_address_is_documented_and_the_documentation_needs_no_other_host(client):
    paths = ok(client.get("/openapi.json"))["paths"]
    assert {"/process", "/models", "/health", "/api/annotate", "/api/beam", "/api/compare"} <= set(paths)
    for path, methods in paths.items():
        for call in methods.values():
            assert call["summary"], path
    assert client.get("/docs").status_code == 200
    assert "/static/docs.js" in client.get("/docs").text


def test_static_files_are_small_and_ask_no_other_host():
    files = [path for path in STATIC.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 300_000
    for path in files:
        urls = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"'`]*", path.read_text()))
        assert urls <= {"http://www.w3.org/2000/svg"}, path
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", path.read_text()), path
        assert not re.search(r"<script(?![^>]*src=)|\son[a-z]+=\"|style=\"", path.read_text()), path


def test_every_answer_has_the_policy(client):
    for path in ("/", "/docs", "/health", "/api/models", "/static/main.js", "/nothing"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"json": {"text": "a", "model": "nope"}}, "no model 'nope'"),
        ({"json": {"text": 3}}, "text"),
        ({"json": {"txt": "a"}}, "text"),
        ({"json": {"text": "a", "path": "/etc/passwd"}}, "path"),
        ({"content": b'{"text": "\\ud800"}', "headers": {"content-type": "application/json"}}, "surrogate"),
        ({"content": b"[" * 100_000, "headers": {"content-type": "application/json"}}, ""),
        ({"json": {"text": "dog cat/NN", "model": "chunker"}}, "word/pos"),
        ({"json": {"text": "x/NN " * 20_000, "model": "chunker"}}, "expected at most 10000"),
    ],
)
def test_a_mistake_is_one_line(client, given, says):
    answer = client.post("/api/annotate", **given)
    assert answer.status_code in (400, 404, 422), answer.text
    detail = answer.json()["detail"]
    assert says in detail
    assert "\n" not in detail
    assert "Traceback" not in answer.text


def test_gold_may_be_given_in_columns(client):
    found = ok(
        client.post("/api/beam", json={"model": "english", "part": "parser", "sentence": "He sleeps.", "beam": 2})
    )
    assert found["steps"][0]["states"][0]["buffer"] == ["He", "sleeps", "."]
    answer = client.post("/api/beam", json={"model": "english", "part": "parser", "sentence": GOLD})
    assert answer.status_code == 422
    assert "CoNLL-U" in answer.json()["detail"]


def test_without_files_every_view_has_something_to_show(tmp_path):
    library = Library.example()
    assert next(iter(library.models)) == "english"
    client = Asked(make_app(library))
    small, large = list(library.models)[1:]
    (data,), (log,) = library.data, library.logs
    scores = ok(client.post("/api/compare", json={"a": small, "b": large, "data": data}))
    assert scores["scores"][0]["accuracy"] < scores["scores"][1]["accuracy"]
    assert scores["differences"]
    passes = ok(client.get(f"/api/training/{log}"))
    assert not passes["live"]
    assert passes["passes"][-1]["dev"] > passes["passes"][0]["dev"]


def test_the_example_is_what_its_script_makes(tmp_path):
    made = runpy.run_path(str(ROOT / "tools" / "page_example.py"))
    made["make"](tmp_path)
    assert sorted(path.name for path in made["FOLDER"].iterdir()) == sorted(path.name for path in tmp_path.iterdir())
    for path in tmp_path.iterdir():
        kept = made["FOLDER"] / path.name
        if path.suffix == ".structron":
            assert str(load(kept).inspect()) == str(load(path).inspect())
        else:
            assert kept.read_bytes() == path.read_bytes()


def test_a_page_may_send_a_model_where_that_is_allowed(library, folder):
    client = Asked(make_app(Library(models={"one": library.models["one"]}), Limits(model=10**7)))
    data = (folder / "two.structron").read_bytes()

    def send(name: str, content: bytes = data, to: Asked = client):
        headers = {"content-type": "application/octet-stream"}
        return to.post("/api/models", params={"name": name}, content=content, headers=headers)

    assert [ok(send(name))["name"] for name in ("two.structron", "two.structron", "../..\\x.structron")] == [
        "two",
        "two-2",
        "x",
    ]
    asked = {"text": "the old dog sleeps", "model": "two"}
    found = ok(client.post("/api/annotate", json=asked))
    direct = library.models["two"].estimator.predict([[(word,) for word in asked["text"].split()]])[0]
    assert [word["xpos"] for word in words_of(found["sentences"][0])] == direct
    assert [own["name"] for own in ok(client.get("/api/models"))] == ["one", "two", "two-2", "x"]
    answer = send("bad.structron", data[:-9])
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("bad.structron: ")
    assert send("long.structron", bytes(10**7 + 1)).status_code == 413
    assert send("two.structron", to=Asked(make_app(Library()))).status_code == 403
    for _ in range(12):
        ok(send("two.structron"))
    assert "16 models are loaded" in send("two.structron").json()["detail"]
