"""`structron check`: exit status, counts and examples."""

import json

from cli_helpers import write

from structron.data.toy_english import toy_english, write_conllu
from structron.eval.checks import AGAINST, RULES


def test_counts_as_text_and_as_json(run, refuses, tmp_path):
    train = tmp_path / "train.conllu"
    write_conllu(train, toy_english(60, seed=1), lemmas=True)
    text = train.read_text()
    write(tmp_path / "gold.conllu", text)
    sound = run("check", tmp_path / "gold.conllu", "--against", train)
    assert (sound.status, sound.err) == (0, "")
    assert sound.out.startswith("60 sentences, ")
    assert sound.out.endswith(" words, 0 problems\n")
    write(tmp_path / "bad.conllu", text.replace("\tNOUN\t", "\tNOM\t"))
    many = text.count("\tNOUN\t")
    bad = run("check", tmp_path / "bad.conllu", "--top", "1")
    assert bad.status == 1
    assert f"{many:7}  upos " in bad.out
    assert bad.out.count("bad.conllu:") == 1
    found = json.loads(run("check", tmp_path / "bad.conllu", "--json").out)
    assert set(found["rules"]) == set(RULES) - set(AGAINST)
    assert found["problems"] == found["rules"]["upos"]["count"] == many
    assert len(found["rules"]["upos"]["examples"]) == 3
    both = run(
        "check", tmp_path / "gold.conllu", tmp_path / "bad.conllu", "--json", "--against", tmp_path / "train.conllu"
    )
    found = json.loads(both.out)
    assert found["sentences"] == 120
    assert found["rules"]["upos-xpos"]["count"] == many
    refuses("check", tmp_path / "none", says="none: cannot be read (no such file or directory)")
    refuses("check", tmp_path / "gold.conllu", "--against", tmp_path / "none", says="none: cannot be read")
    refuses("check", says="Missing argument 'FILE …'")
