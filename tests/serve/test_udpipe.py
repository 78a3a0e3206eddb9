"""UDPipe's REST protocol, as its clients speak it."""

import email.mime.multipart
import email.mime.nonmultipart
import email.policy

import pytest

from structron.io.doc import Doc

TEXT = "Dr. Smith didn't sleep. He flew to Paris."


def result(answer):
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert list(found) == ["model", "acknowledgements", "result"]
    assert found["model"] == "english"
    return found["result"]


def without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


def test_models_are_listed_as_udpipe_does(client):
    assert client.get("/models").json() == {
        "models": {"english": ["tokenizer", "tagger", "parser"]},
        "default_model": "english",
    }


def test_all_ways_to_ask_give_the_analysis(client, library):
    expected = without_comments(library.models["english"].estimator(TEXT).to_conllu())
    asked = {"data": TEXT, "tokenizer": "", "tagger": "", "parser": ""}
    query = client.get("/process?tokenizer&tagger&parser", params=None).status_code
    assert query == 400  # no data
    answers = [
        client.get("/process", params=asked),
        client.post("/process", data=asked),
        client.post("/process", data={k: v for k, v in asked.items() if k != "data"}, files={"data": ("t.txt", TEXT)}),
        client.post("/process?tokenizer&tagger&parser", data={"data": TEXT}),
        client.post("/process", data=asked | {"model": "english-ewt-ud-2.12-230717"}),
        client.post("/process", data=asked | {"model": "en"}),
    ]
    for answer in answers:
        assert without_comments(result(answer)) == expected
    assert "# generator = structron" in result(answers[0])
    again = client.post("/process", data={"data": result(answers[0]), "input": "conllu", "parser": ""})
    assert result(again).count("# generator =") == result(again).count("# udpipe_model =") == 1
    assert Doc.from_conllu(result(answers[0])).text == TEXT


def test_the_message_of_the_official_client_is_read(client):
    """Its multipart message is made by the email package."""
    message = email.mime.multipart.MIMEMultipart("form-data", policy=email.policy.HTTP)
    for name, value in {"data": "He slept.", "tokenizer": "", "output": "horizontal"}.items():
        part = email.mime.nonmultipart.MIMENonMultipart("text", "plain", policy=email.policy.HTTP)
        part.add_header("Content-Disposition", "form-data", name=name)
        part.add_header("Content-Transfer-Encoding", "8bit")
        part.set_payload(value)
        message.attach(part)
    head, _, body = message.as_bytes(policy=email.policy.HTTP).partition(b"\r\n\r\n")
    kind = next(line.split(b": ", 1)[1] for line in head.replace(b"\r\n ", b" ").split(b"\r\n") if b"boundary" in line)
    answer = client.post("/process", content=body, headers={"content-type": kind.decode()})
    assert result(answer) == "He slept .\n"


def test_parts_that_were_not_asked_for_leave_their_columns(client):
    bare = result(client.post("/process", data={"data": "He slept.", "tokenizer": ""}))
    rows = [line.split("\t") for line in bare.splitlines() if line[:1].isdigit()]
    assert [row[1] for row in rows] == ["He", "slept", "."]
    assert all(row[2:8] == ["_"] * 6 for row in rows)
    tagged = result(
        client.post("/process", data={"data": "He slept.", "tokenizer": "", "tagger": "", "parser": "none"})
    )
    rows = [line.split("\t") for line in tagged.splitlines() if line[:1].isdigit()]
    assert [row[3] for row in rows] == ["PRON", "VERB", "PUNCT"]
    assert all(row[6:8] == ["_", "_"] for row in rows)
    parsed = result(client.post("/process", data={"data": tagged, "parser": ""}))
    assert [line.split("\t")[6] for line in parsed.splitlines() if line[:1].isdigit()] == ["2", "0", "2"]


def test_tokens_that_are_given_stay(client):
    given = "1\tHe\t_\t_\t_\t_\t_\t_\t_\t_\n2\tice-cream\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    found = result(client.post("/process", data={"data": given, "tagger": "", "parser": ""}))
    assert [line.split("\t")[1] for line in found.splitlines() if line[:1].isdigit()] == ["He", "ice-cream"]
    for format, data in (("horizontal", "He sleeps .\nShe eats ."), ("vertical", "He\nsleeps\n.\n\nShe\neats\n.\n")):
        found = result(client.post("/process", data={"data": data, "input": format, "output": "horizontal"}))
        assert found == "He sleeps .\nShe eats .\n"


def test_options_of_the_tokenizer(client):
    found = result(
        client.post("/process", data={"data": "He slept. She ate.\nA b", "tokenizer": "presegmented;ranges"})
    )
    sentences = found.strip().split("\n\n")
    assert len(sentences) == 2
    assert "TokenRange=10:13" in sentences[0]
    assert result(client.post("/process", data={"data": TEXT, "tokenizer": "", "output": "plaintext"})) == TEXT
    vertical = result(client.post("/process", data={"data": "He slept.", "tokenizer": "", "output": "vertical"}))
    assert vertical == "He\nslept\n.\n\n"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "'data' is missing"),
        ({"data": "a", "model": "klingon"}, "'klingon' does not exist"),
        ({"data": "a", "input": "pdf"}, "Unknown input format 'pdf'"),
        ({"data": "a", "tokenizer": "", "output": "pdf"}, "Unknown output format 'pdf'"),
        ({"data": "a", "tokenizer": "fast"}, "Unknown tokenizer option"),
        ({"data": "no columns here"}, "Cannot read input data"),
    ],
)
def test_mistakes_are_answered_in_plain_text(client, given, says):
    answer = client.post("/process", data=given)
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("text/plain")
    assert says in answer.text
