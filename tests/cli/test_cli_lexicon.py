"""`structron lexicon`: dictionaries of every format in, a lexicon out that training takes."""

import gzip
import json

import pytest
from cli_helpers import write

import structron
from structron.features.wordforms import WordForms

UDPIPE = "dogs\tdog\tNOUN\tNNS\tNumber=Plur\nwent\tgo\tVERB\tVBD\t_\nof\tof\tADP\n"
UNIMORPH = "dog\tdogs\tN;PL\ngo\twent\tV;PST\ngo\tgone\tV.PTCP;PST\nof\tof\tODD\n"
CONLLU = "# text = Dogs went\n1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n"
CONLLU += "2\twent\tgo\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
LOOKUP = {"dogs": "dog", "axes": ["axe", "axis"], "go": "go"}
EXCEPTIONS = {"verb": {"went": ["go"]}, "adj": {"better": ["good", "well"]}}
INDEX = {"noun": ["dog", "box"], "verb": ["go"]}
RULES = {"noun": [["s", ""], ["xes", "x"]], "verb_ind_pres": [["oes", "o"]]}


@pytest.fixture
def convert(run, tmp_path):
    """The rows that the command makes of files with these contents."""

    def command(*options: str, **files) -> list[tuple[str, ...]]:
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("_gz") else text.encode())
        found = run("lexicon", *(tmp_path / name for name in files), *options, "--quiet")
        assert (found.status, found.err) == (0, "")
        write(tmp_path / "made", found.out)
        assert len(WordForms.from_file(tmp_path / "made"))
        return [tuple(line.split("\t")) for line in found.out.splitlines()]

    return command


def test_text_formats(convert):
    rows = [tuple(line.split("\t")) for line in UDPIPE.splitlines()]
    assert convert(a=UDPIPE) == convert(a_gz=UDPIPE) == convert("--format", "udpipe", a=UDPIPE, b=UDPIPE) == rows
    assert convert(a=UNIMORPH) == [
        ("dogs", "dog", "NOUN", "N;PL"),
        ("went", "go", "VERB", "V;PST"),
        ("gone", "go", "VERB", "V.PTCP;PST"),
        ("of", "of", "_", "ODD"),
    ]
    assert convert(a=CONLLU) == [("Dogs", "dog", "NOUN", "NNS", "Number=Plur"), ("went", "go", "VERB", "VBD", "_")]


def test_tables_of_spacy(convert):
    rows = [("dogs", "dog"), ("axes", "axe"), ("axes", "axis"), ("go", "go"), ("dog", "dog"), ("axe", "axe")]
    rows += [("axis", "axis")]
    assert convert(x_lemma_lookup=LOOKUP) == [(*row, "_") for row in rows]
    assert convert(x_lemma_lookup_noun=LOOKUP) == [(*row, "NOUN") for row in rows]
    assert convert(x_lemma_exc=EXCEPTIONS) == [
        ("went", "go", "VERB"),
        ("go", "go", "VERB"),
        ("better", "good", "ADJ"),
        ("better", "well", "ADJ"),
        ("good", "good", "ADJ"),
        ("well", "well", "ADJ"),
    ]
    made = [("dog", "dog", "NOUN"), ("dogs", "dog", "NOUN"), ("box", "box", "NOUN"), ("boxs", "box", "NOUN")]
    made += [("boxes", "box", "NOUN"), ("go", "go", "VERB"), ("goes", "go", "VERB")]
    assert convert(rules=RULES, index=INDEX) == convert(index=INDEX, rules=RULES) == made


def test_a_lexicon_in_training(run, refuses, tmp_path, toy_tagged):
    train, lexicon, model = tmp_path / "t.conll", tmp_path / "l", tmp_path / "m"
    write(train, toy_tagged)
    write(lexicon, "zebras\tzebra\tB\nxylos\txylo\tA\n" + "".join(f"w{k}\tw\t{'AB'[k % 2]}\n" for k in range(40)))
    given = ["--columns", "word,upos", "--passes", "3", "--runs", "1", "--cutoff", "0"]
    found = run("train", "tagger", "--train", train, "--lexicon", lexicon, "--model", model, *given)
    assert found.status == 0, found.err
    assert "lexicon l: 42 forms, 42 entries (" in found.err
    assert structron.load(model).predict([["zebras", "xylos"]]) == [["B", "A"]]
    again = ["--warm-start", model, "--lexicon", lexicon, "--model", tmp_path / "again"]
    refuses("train", "tagger", "--train", train, *again, says="--lexicon cannot be given with --warm-start")


@pytest.fixture
def toy_tagged() -> str:
    return "".join(f"w{k}\t{'AB'[k % 2]}\n\n" for k in range(40))


def test_mistakes(refuses, tmp_path):
    def given(content: str):
        write(tmp_path / "d", content)
        return tmp_path / "d"

    refuses("lexicon", says="Missing argument 'FILE …'")
    refuses("lexicon", tmp_path / "none", says="none: cannot be read (no such file or directory)")
    refuses("lexicon", given(UDPIPE), "--format", "x", says="unknown --format 'x'; expected one of: udpipe")
    refuses("lexicon", given(UDPIPE), "-o", tmp_path / "d", says=f"--output {tmp_path / 'd'}: is also the input")
    refuses("lexicon", given(""), says="d: no entries; expected at least one")
    refuses("lexicon", given("a\tb\n"), says="d:1: 'a\\tb'; expected a form, its lemma and UPOS")
    refuses("lexicon", given("a\tb\tN;S\nc\n"), says="d:2: 'c'; expected a lemma, a form and features")
    refuses("lexicon", given("{"), says="d: not JSON")
    refuses("lexicon", given("{}"), says="d: {}; expected spaCy's tables of lemmas")
    refuses("lexicon", given('{"a": 3}'), says="d: 3; expected a word")
    refuses("lexicon", given('{"a": "b\\tc"}'), says="expected a word")
    refuses("lexicon", given('{"noun": [["s"]]}'), says="d: 'noun': ['s']; expected two endings")
    refuses("lexicon", given('{"noun": [["s", ""]]}'), says="d: only rules; expected the index of lemmas")
    refuses("lexicon", given('{"noun": ["s"], "verb": 3}'), says="d: 3; expected spaCy's tables of lemmas")
    refuses("lexicon", "-", says="-: the format of a stream is not determined by its contents; expected --format")
    refuses(
        "train",
        "tagger",
        "--train",
        given(UDPIPE),
        "--lexicon",
        given("a b c\n"),
        "--model",
        tmp_path / "m",
        says="d:1: 'a b c'",
    )
