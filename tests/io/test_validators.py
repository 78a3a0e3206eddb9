"""What is written as CoNLL-U, whatever the text was, is what others take for it: the packages conllu and udapi, and
Universal Dependencies' own validator, levels 1 and 2.

Two of its rules are not for writers of files: sentences have names (`sent_id`), which those who keep a treebank give,
so they get some here; and text is normalised Unicode, which text of users is not, and stays as it is.
"""

import asyncio
import io
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import structron
from structron.cli import main
from structron.teach import command
from toy import toy_docs

conllu = pytest.importorskip("conllu")
for extra in ("udtools", "udapi", "httpx", "fastapi"):
    pytest.importorskip(extra)
from httpx import ASGITransport, AsyncClient  # noqa: E402
from udapi.core.document import Document as Tree  # noqa: E402
from udtools.validator import Validator  # noqa: E402

from structron.serve.app import make_app  # noqa: E402
from structron.serve.library import Library  # noqa: E402

NOT_OURS = {"unicode-normalization"}
TEXTS = {
    "scripts that empty a word": "I ate n orange. he en it\n\nit en",
    "columns": "1\ta\tb\t_\t_ # sent_id = 1\n# text = x\n\n1-2\tdon't\t_ SpaceAfter=No|NER=B-X a=b|c _ a _ - -- ___",
    "white space": "  a\u00a0b\u2028c\u2029d\x85e\x0b\x0cf\x1c\x1d\x1e\x1fg\u3000\u3000h \t\r\n\r\ni\r\u2003j\u200bk  ",
    "a mark of byte order": "\ufeffHello world.",
    "marks": "e\u0301 \u0301\u0301 a\u2060b soft\u00adhyphen \u202eevil\u202c",
    "joiners": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \ufeff x \ufeff",
    "control characters": "\x01\x02\x7f a\x00b \x1b[31mred \x80\x9f",
    "other scripts": "שלום עולם. مرحبا بالعالم ＦＵＬＬ　ｗｉｄｔｈ İstanbul ﬀ ß 日本語のテキスト。\ue000\U000e0001",
    "contractions": "don't can't won't I'd've cannot gonna 's 't n't 'll d'you ain't Don't DON'T they're",
    "marks alone": ".......... ( [ { ''`` \"\" !!! ??? %$#@ &amp; <b> a|b\\s\\p\\\\ http://x.y/z?a=b#c x@y.z",
    "numbers": "1 000 000 1,000.5 -3 ½ ² 3.14e-10 2020-01-01 12:30 ١٢٣",
    "long": "x" * 3000 + " " + "b c " * 60,
}


@pytest.fixture(scope="module")
def nlp():
    return structron.load("english")


def breaches(text: str) -> list[str]:
    """What the validator of Universal Dependencies has against a file of named sentences."""
    validator = Validator(lang="en", level=2, output=None)
    state = validator.validate_file_handle(io.StringIO(named(text)))
    validator.validate_end(state)
    found = [own for own in state.error_tracker if own.is_error()]
    return [f"{own.lineno}: {own.testid}: {own.message}" for own in found if own.testid not in NOT_OURS]


def named(text: str) -> str:
    """The same with a name for each sentence."""
    if re.search("^# sent_id = ", text, re.MULTILINE):
        return text
    lines, count = [], 0
    for line in io.StringIO(text, newline="\n"):
        if line.startswith("# text = "):
            count += 1
            lines.append(f"# sent_id = {count}\n")
        lines.append(line)
    return "".join(lines)


def check(text: str, written: str) -> None:
    """A file is valid, and all three read from it what the text is."""
    assert breaches(written) == []
    for sentence, tree in zip(conllu.parse(written), bundles(written), strict=True):
        words = [token for token in sentence if isinstance(token["id"], int)]
        assert [token["form"] for token in words] == [node.form for node in tree.descendants]
        assert [token["head"] for token in words] == [node.parent.ord for node in tree.descendants]
        assert all(token[name] for token in words for name in ("form", "lemma", "upos", "deprel"))
    assert structron.Doc.from_conllu(written).text == text


def bundles(written: str) -> list:
    """The trees of a file as udapi reads them."""
    found = Tree()
    found.from_conllu_string(written)
    return [bundle.get_tree() for bundle in found.bundles]


@pytest.mark.parametrize("what", TEXTS)
def test_hostile_text_is_valid_conllu(nlp, what):
    check(TEXTS[what], nlp(TEXTS[what]).to_conllu())


PIECES = ["en", "n't", "he ", ". ", "\n\n", "\t", "_", "|", "=", "#", "\u200b", "\u00a0", "\u0301", "\x1f", "'", "-"]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_any_text_is_valid_conllu(nlp, pieces):
    text = "".join(pieces)
    if (doc := nlp(text)).sentences:  # white space alone is no sentence, and the format has nothing else
        check(text, doc.to_conllu())


WHOLE = "\n\n".join(TEXTS.values())


@pytest.fixture
def file(tmp_path):
    """All of the texts."""
    path = tmp_path / "texts.txt"
    path.write_bytes(WHOLE.encode())
    return str(path)


def test_what_the_command_writes_is_valid_conllu(file, tmp_path):
    out = tmp_path / "out.conllu"
    assert main(["annotate", file, "--output", str(out), "--format", "conllu", "--jobs", "1"]) == 0
    check(WHOLE, out.read_bytes().decode())


def test_what_the_server_answers_is_valid_conllu():
    app = make_app(Library.open(["english"], [], []))

    async def ask() -> str:
        async with AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1", timeout=300) as client:
            form = {"data": WHOLE, "tokenizer": "", "tagger": "", "parser": ""}
            return (await client.post("/process", data=form)).json()["result"]

    check(WHOLE, asyncio.run(ask()))


def test_what_a_project_exports_is_valid_conllu(nlp, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_serve", lambda opened, *_: opened.close() or 0)
    project, trees, out = tmp_path / "p.teach", tmp_path / "trees.conllu", tmp_path / "out.conllu"
    trees.write_bytes(nlp(WHOLE).to_conllu().encode())
    assert main(["teach", str(project), "--texts", str(trees), "--task", "parser"]) == 0
    assert main(["teach", str(project), "--export", str(out)]) == 0
    check(WHOLE, out.read_bytes().decode())


def test_lemmas_that_are_spelled_are_valid_conllu():
    """A pipeline that knows little; it spells unknown words' lemmas."""
    toy = structron.Pipeline(folds=2, jobs=1, without=["entities", "splitter"]).fit(toy_docs(12, 1))
    assert toy.model_.trained["lemmatizer"].options.letters
    check(WHOLE, toy(WHOLE).to_conllu())


def test_the_validator_finds_what_is_wrong(nlp):
    """These tests can fail."""
    written = nlp("He flew to Paris.").to_conllu()
    assert breaches(written) == []
    mistakes = {"\tPRON\t": "\tPR\t", "\the\t": "\t\t", "\tnsubj\t": "\tNSUBJ\t", "# text = He": "# text = She"}
    for right, wrong in mistakes.items():
        assert right in written
        assert breaches(written.replace(right, wrong)), wrong
