"""What the server of a project answers, to what it understands and to what it does not."""

import json
import time

import httpx
import pytest
from projects import doc_for, project

from structron.data.toy_english import toy_english

ME = {"window": "w", "who": "ann"}


@pytest.fixture
def http(serve, tmp_path):
    with httpx.Client(base_url=serve(project(tmp_path / "p.teach", count=5)), timeout=60) as found:
        yield found


def test_a_session(http):
    found = http.post("/api/teach/ask", json=ME).json()
    item, count = found["item"], len(found["item"]["words"])
    known = {"labels": ["O"] * count}
    saved = http.post(
        "/api/teach/answer", json={**ME, "sentence": item["sentence"], "known": known, "predicted": item["predicted"]}
    )
    assert saved.status_code == 200
    assert saved.json()["saved"] == 1
    assert saved.json()["item"]["sentence"] != item["sentence"]
    assert saved.json()["status"]["answered"] == 1
    assert http.get("/api/teach/export/conll").text.count("\tO\n") == count
    assert http.get("/api/teach/export/jsonl").headers["content-disposition"] == 'attachment; filename="p.jsonl"'
    back = http.post("/api/teach/undo", json=ME).json()
    assert (back["item"]["sentence"], back["item"]["said"], back["status"]["answered"]) == (item["sentence"], known, 0)
    assert http.post("/api/teach/label", json={"label": "DISH"}).json()["labels"][-1] == "DISH"
    assert http.get("/").headers["content-type"].startswith("text/html")


def test_what_a_file_says_stays_and_the_rest_is_predicted(serve, tmp_path):
    made, toy = project(tmp_path / "p.teach", "chunker", 1), toy_english(40, seed=8)
    known = [[label if k % 3 == 0 else None for k, label in enumerate(own.chunks)] for own in toy]
    made.add("half", doc_for(toy), [{"labels": own} for own in known])
    made.base.execute("UPDATE sentences SET done = 2 WHERE id = 1")
    made.add_labels(["ADVP", "NP", "PP", "VP", "SBAR", "ADJP", "PRT"])
    address = serve(made)
    with httpx.Client(base_url=address, timeout=60) as http:
        while http.get("/api/teach/status").json()["learning"]:
            time.sleep(0.02)  # the project has begun with what it found in the files
        found = http.post("/api/teach/ask", json=ME).json()
        item, k = found["item"], found["item"]["sentence"] - 2
        assert (item["known"], found["status"]["answered"]) == ({"labels": known[k]}, 0)
        predicted = item["predicted"]["labels"]
        assert all(told in (None, label) for told, label in zip(known[k], predicted, strict=True))
        right = sum(a == b for a, b in zip(toy[k].chunks, predicted, strict=True))
        assert right > 0.5 * len(predicted)
        gold = {"labels": list(toy[k].chunks)}
        body = {**ME, "sentence": item["sentence"], "known": gold, "predicted": item["predicted"]}
        done = http.post("/api/teach/answer", json=body).json()["status"]
        assert (done["answered"], done["corrected"]) == (1, len(predicted) - right)


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("answer", {**ME, "sentence": 999, "known": {"labels": []}}, 404, "no sentence 999"),
        ("answer", {**ME, "sentence": 1, "known": {"labels": ["B-X"]}}, 422, "one for each"),
        ("answer", {**ME, "sentence": 1, "known": {"tags": []}}, 422, "known"),
        ("answer", {**ME, "sentence": "x"}, 422, "sentence"),
        ("ask", {"window": "w"}, 422, "who"),
        ("ask", {**ME, "more": 1}, 422, "more"),
        ("ask", [], 422, ""),
        ("answer", {**ME, "sentence": 1 << 70, "known": None}, 422, "sentence"),
        ("answer", {**ME, "sentence": 1, "known": {"labels": [["B-PER"]]}}, 422, "nested too deep"),
        ("answer", {**ME, "sentence": 1, "known": None, "predicted": {"labels": ["\ud800"]}}, 422, "surrogate"),
        ("ask", {"window": "\ud800", "who": "ann"}, 422, "surrogate"),
        ("label", {"label": "<b> x"}, 422, "without spaces"),
        ("label", {"label": "?"}, 422, "expected another name"),
        ("label", {"label": "\x9b2J"}, 422, "characters"),
    ],
)
def test_mistakes(path, body, status, said, http):
    headers = {"content-type": "application/json"}
    found = http.post(f"/api/teach/{path}", content=json.dumps(body), headers=headers)
    assert found.status_code == status
    assert said in str(found.json()["detail"])
    assert http.get("/api/teach/status").json()["answered"] == 0


@pytest.mark.parametrize(
    "predicted",
    [{}, {"labels": []}, {"labels": ["O"] * 999}, {"heads": [1]}, {"labels": [7]}, {"labels": [1e400]}],
    ids=["nothing", "no labels", "too many", "heads", "numbers", "infinite"],
)
def test_predictions_that_were_never_shown(predicted, http):
    """They count for nothing; what a person says counts."""
    item = http.post("/api/teach/ask", json=ME).json()["item"]
    count = len(item["words"])
    if predicted.get("labels") and len(predicted["labels"]) == 1:
        predicted = {"labels": predicted["labels"] * count}
    body = {**ME, "sentence": item["sentence"], "known": {"labels": ["O"] * count}, "predicted": predicted}
    saved = http.post(
        "/api/teach/answer", content=json.dumps(body), headers={"content-type": "application/json"}
    ).json()
    assert (saved["saved"], saved["status"]["answered"], saved["status"]["corrected"]) == (1, 1, 0)


def test_a_project_of_any_name_can_be_exported(serve, tmp_path):
    with httpx.Client(base_url=serve(project(tmp_path / 'a\n"é\\.teach', count=2)), timeout=60) as http:
        said = http.get("/api/teach/export/jsonl").headers["content-disposition"]
    assert said == 'attachment; filename="a____.jsonl"'


def test_addresses_that_are_not_there(http):
    for path in ("/api/teach/export/brat", "/api/teach/export/exe", "/api/annotate", "/static/../project.py"):
        assert http.get(path).status_code in (404, 405)


def test_other_sites_are_refused(http):
    assert http.post("/api/teach/ask", json=ME, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert http.get("/api/teach/status", headers={"host": "evil.example"}).status_code in (400, 403, 421)
