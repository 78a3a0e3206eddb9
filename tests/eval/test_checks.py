"""Checks of annotated files: a sound one has no problem, and each thing that is wrong is found once."""

import pytest

from structron.eval.checks import AGAINST, RULES, Attested, Report, problems
from toy import toy_docs

SOUND = """\
# sent_id = 1
# text = I can't see them, he said.
1\tI\tI\tPRON\tPRP\tCase=Nom|Number=Sing\t4\tnsubj\t4:nsubj\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\tVerbForm=Fin\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\tPolarity=Neg\t4\tadvmod\t_\t_
4\tsee\tsee\tVERB\tVB\tVerbForm=Inf\t8\tccomp\t_\t_
5\tthem\tthey\tPRON\tPRP\tCase=Acc\t4\tobj\t4:obj|8:obl:at\tSpaceAfter=No
6\t,\t,\tPUNCT\t,\t_\t8\tpunct\t_\t_
7\the\the\tPRON\tPRP\tCase=Nom\t8\tnsubj\t_\t_
7.1\tso\tso\tADV\tRB\t_\t_\t_\t8:advmod\t_
8\tsaid\tsay\tVERB\tVBD\tTense=Past\t0\troot\t_\tSpaceAfter=No
9\t.\t.\tPUNCT\t.\t_\t8\tpunct\t_\t_

# sent_id = 2
# text = …
1\t…\t…\tPUNCT\t.\t_\t0\troot\t_\t_

"""


def found(text: str, known: Attested | None = None) -> list[tuple[str, int]]:
    return [(problem.rule, problem.line) for problem in problems(text.splitlines(keepends=True), known)]


def rows(text: str) -> list[list[list[str]]]:
    blocks = [block.splitlines() for block in text.split("\n\n")]
    lines = [[line.split("\t") for line in block if line[0] != "#"] for block in blocks]
    return [[row for row in own if row[0].isdigit()] for own in lines]


def test_nothing_is_wrong():
    assert found(SOUND) == []
    assert found(SOUND, Attested.of(rows(SOUND))) == []
    assert found(SOUND.replace("\n", "\r\n")) == []
    assert found("\ufeff" + SOUND.rstrip("\n")) == []
    assert found(SOUND.replace("he said.\n", "he\u00a0said.\n")) == []


def test_what_is_generated_lacks_names_of_sentences_alone():
    assert {rule for rule, _ in found("".join(doc.to_conllu() for doc in toy_docs(30, 2)))} == {"sent-id"}


CHANGES = [
    ("\t4\tobj\t4:obj", "\t4\tobj\t4:obj\t_", "columns", 8),
    ("6\t,\t,\t", "6\t,\t\t", "columns", 9),
    ("1\tI\tI", "0\tI\tI", "ids", 3),
    ("1\tI\tI", "²\tI\tI", "ids", 3),
    ("1\tI\tI", f"{'9' * 5000}\tI\tI", "ids", 3),
    ("2-3\tcan't", "2-2\tcan't", "ids", 4),
    ("2-3\tcan't", f"2-{'3' * 5000}\tcan't", "ids", 4),
    ("7.1\tso", "7.2\tso", "ids", 11),
    ("7.1\tso", "x\tso", "ids", 11),
    ("VBD\tTense=Past", "VB D\tTense=Past", "spaces", 12),
    ("said\tsay", "said\tsay ", "spaces", 12),
    ("# sent_id = 2", "# sent_id = 1", "sent-id", 15),
    ("# sent_id = 2\n", "", "sent-id", 15),
    ("he said.\n", "he said .\n", "text", 2),
    ("# text = …\n", "# text = …\n# text = …\n", "text", 15),
    ("can't\t_", "can't\tcan", "multiword", 4),
    ("\tAUX\t", "\tMODAL\t", "upos", 5),
    ("\tAUX\t", "\t_\t", "upos", 5),
    ("Case=Nom|Number=Sing", "Number=Sing|Case=Nom", "feats", 3),
    ("Case=Nom|Number=Sing", "Case=Nom|Case=Sing", "feats", 3),
    ("Polarity=Neg", "Polarity", "feats", 6),
    ("\tadvmod\t_\t_\n4", "\tadv\t_\t_\n4", "deprel", 6),
    ("\tadvmod\t_\t_\n4", "\tadvmod:a:b\t_\t_\n4", "deprel", 6),
    ("\t8\tpunct\t_\t_\n7", "\t88\tpunct\t_\t_\n7", "head", 9),
    ("\t8\tpunct\t_\t_\n7", "\t6\tpunct\t_\t_\n7", "head", 9),
    ("\t8\tpunct\t_\t_\n7", "\tx\tpunct\t_\t_\n7", "head", 9),
    ("\t8\tpunct\t_\t_\n7", "\t²\tpunct\t_\t_\n7", "head", 9),
    ("\t8\tpunct\t_\t_\n7", f"\t{'8' * 5000}\tpunct\t_\t_\n7", "head", 9),
    ("\t8\tpunct\t_\t_\n7", "\t8\troot\t_\t_\n7", "root", 9),
    ("\t8\tccomp", "\t5\tccomp", "cycle", 7),
    ("4:obj|8:obl:at", "8:obl:at|4:obj", "deps", 8),
    ("4:obj|8:obl:at", "4:obj|4:obj", "deps", 8),
    ("4:obj|8:obl:at", "four:obj", "deps", 8),
    ("\tsee\tsee", "\tsee\t_", "no-lemma", 7),
    ("\t4\tobj\t", "\t4\tcsubj:pass\t", "subjects", 8),
]


@pytest.mark.parametrize(("before", "after", "rule", "line"), CHANGES)
def test_one_thing_is_wrong(before, after, rule, line):
    assert before in SOUND
    assert (rule, line) in (wrong := found(SOUND.replace(before, after, 1)))
    assert len(wrong) == 1 or rule in ("columns", "ids")


def test_two_roots_and_punctuation_as_root():
    two = SOUND.replace("\t8\tccomp", "\t0\troot")
    assert found(two) == [("root", 1)]
    mark = SOUND.replace("\t8\tpunct\t_\t_\n\n", "\t0\troot\t_\t_\n\n")
    assert found(mark.replace("\t0\troot\t_\tSpace", "\t9\tccomp\t_\tSpace")) == [("punct-root", 13)]
    outer = SOUND.replace("\tnsubj\t4:nsubj", "\tnsubj:outer\t4:nsubj")
    assert found(outer.replace("\t4\tobj\t", "\t4\tnsubj\t")) == []


def test_columns_that_nobody_has_filled():
    lines = [line for line in SOUND.splitlines() if not line or line[0].isdigit()]
    bare = ["\t".join([*line.split("\t")[:6], *"____"]) if line else "" for line in lines]
    assert {rule for rule, _ in found("\n".join(bare))} == {"sent-id", "text"}


def test_against_another_file():
    known = Attested.of(rows(SOUND))
    changes = {
        "upos-xpos": ("AUX\tMD", "AUX\tVB"),
        "upos-feats": ("Case=Acc", "Case=Dat"),
        "closed-class": ("\the\the\tPRON", "\tit\the\tPRON"),
        "lemma": ("see\tsee", "see\tsaw"),
    }
    assert tuple(changes) == AGAINST
    for rule, (before, after) in changes.items():
        assert [own for own, _ in found(SOUND.replace(before, after), known) if own != "text"] == [rule]


def test_a_report_counts_and_keeps_the_first():
    report = Report()
    for name in ("a", "b"):
        report.add(name, SOUND.replace("\tnsubj", "\tsubj").splitlines(), examples=3)
    assert (report.sentences, report.words) == (4, 20)
    assert report.counts == {"deprel": 4}
    assert [(name, problem.line) for name, problem in report.first["deprel"]] == [("a", 3), ("a", 10), ("b", 3)]
    assert set(report.counts) <= set(RULES)
