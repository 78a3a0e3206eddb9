"""Toy English must be the same everywhere, legal in every layer, and hard in the ways it promises."""

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import astuple

import conllu
import pytest

from structron.data import corpora, lexicon
from structron.data.toy_english import UNIVERSAL, ToySentence, toy_english, write_conll, write_conllu
from structron.errors import StructronError
from structron.text.trees import check_tree, is_projective

CHUNKS = {"NP", "VP", "PP", "ADJP", "ADVP", "SBAR", "PRT"}
SAMPLE_CHECKSUM = "85093e7d15073bb1"


@pytest.fixture(scope="module")
def corpus() -> list[ToySentence]:
    return toy_english(3000, seed=1)


def documents(corpus: list[ToySentence]) -> list[list[ToySentence]]:
    found: list[list[ToySentence]] = []
    for sentence in corpus:
        if sentence.new_document:
            found.append([])
        found[-1].append(sentence)
    return found


def tokens(corpus: list[ToySentence]) -> list[str]:
    return [word for sentence in corpus for word in sentence.words]


def test_the_text_depends_on_the_seed_alone():
    """It has not changed by accident either; a longer corpus begins like a shorter one."""
    assert toy_english(120, seed=3)[:50] == toy_english(50, seed=3) != toy_english(50, seed=4)
    assert toy_english(0) == []
    text = json.dumps([astuple(sentence) for sentence in toy_english(300, seed=0)])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == SAMPLE_CHECKSUM
    for arguments in ((-1, 0), (10, -1)):
        with pytest.raises(StructronError, match=">= 0"):
            toy_english(*arguments)


def test_layers_have_equal_length_and_sentences_look_like_sentences(corpus):
    for sentence in corpus:
        assert len({len(layer) for layer in astuple(sentence)[:-1]}) == 1
        assert sentence.words[0][0] == sentence.words[0][0].upper()
        assert sentence.words[-1] in ".?"
        assert all(word and not any(c.isspace() for c in word) for word in sentence.words)
        assert (",", ",") not in zip(sentence.words, sentence.words[1:], strict=False)
    assert {tag for s in corpus for tag in s.pos} == set(UNIVERSAL)


def test_chunks_and_entities_are_legal_iob2(corpus):
    for sentence in corpus:
        for layer, kinds in ((sentence.chunks, CHUNKS), (sentence.entities, {"PER", "LOC", "ORG"})):
            for before, tag in zip(["O"] + layer, layer, strict=False):
                assert tag == "O" or (tag[:2] in ("B-", "I-") and tag[2:] in kinds)
                if tag.startswith("I-"):
                    assert before[1:] == tag[1:]
    assert {tag[2:] for s in corpus for tag in s.chunks if tag != "O"} == CHUNKS


def test_trees_are_single_rooted_acyclic_and_projective(corpus):
    for sentence in corpus:
        assert check_tree(sentence.heads) is None
        assert is_projective(sentence.heads)
        assert [head == 0 for head in sentence.heads] == [relation == "root" for relation in sentence.relations]


def test_lexicon_is_large_and_inflects():
    verbs = {verb.base for frame in lexicon.VERBS.values() for verb in frame}
    assert len({*verbs, *lexicon.ADJECTIVES, *(noun for nouns in lexicon.NOUNS.values() for noun in nouns)}) >= 600
    assert lexicon.conjugate("describe")[1:] == ("describes", "described", "described", "describing")
    assert lexicon.conjugate("stop")[1:] == ("stops", "stopped", "stopped", "stopping")
    assert lexicon.conjugate("deny")[1:] == ("denies", "denied", "denied", "denying")
    assert lexicon.conjugate("agree")[1:] == ("agrees", "agreed", "agreed", "agreeing")
    assert lexicon.conjugate("write")[1:] == ("writes", "wrote", "written", "writing")
    assert [lexicon.plural(noun) for noun in ("city", "day", "box", "woman")] == ["cities", "days", "boxes", "women"]
    assert [lexicon.article(word) for word in ("old", "new")] == ["an", "a"]


def test_unknown_words_at_test(corpus):
    known = set(tokens(corpus[:1500]))
    test = tokens(toy_english(1000, seed=2))
    assert 0.05 <= sum(word not in known for word in test) / len(test) <= 0.08


def test_words_are_ambiguous(corpus):
    tags = defaultdict(Counter)
    for sentence in corpus:
        for word, tag in zip(sentence.words, sentence.pos, strict=True):
            tags[word.lower()][tag] += 1
    for word, expected in {
        "that": ("IN", "DT", "WDT"),
        "her": ("PRP", "PRP$"),
        "to": ("TO", "IN"),
        "up": ("RP", "IN"),
        "over": ("RP", "IN"),
        "in": ("RP", "IN"),
        "plan": ("NN", "VB"),
        "reports": ("NNS", "VBZ"),
        "planned": ("JJ", "VBD", "VBN"),
        "'s": ("POS", "VBZ"),
        "about": ("IN", "RB"),
    }.items():
        assert all(tags[word][tag] >= 3 for tag in expected), (word, tags[word])
    ambiguous = sum(counts.total() for counts in tags.values() if len(counts) > 1)
    assert ambiguous / sum(counts.total() for counts in tags.values()) > 0.2
    best = sum(max(counts.values()) for counts in tags.values())
    assert best / sum(counts.total() for counts in tags.values()) < 0.96


def test_attachment_depends_on_the_words(corpus):
    heads = Counter()
    for sentence in corpus:
        for word, head, relation in zip(sentence.words, sentence.heads, sentence.relations, strict=True):
            if word == "with" and relation == "case":
                noun = head - 1
                heads[sentence.words[noun], sentence.relations[noun]] += 1
    assert heads["beard", "nmod"] > 5
    assert heads["beard", "obl"] == 0
    assert heads["hammer", "obl"] > 5
    assert heads["hammer", "nmod"] == 0


def test_documents_share_names_and_keep_their_kind(corpus):
    kinds_of = defaultdict(set)
    for document in documents(corpus)[:-1]:
        assert 5 <= len(document) <= 12
        here = defaultdict(set)
        for sentence in document:
            for word, tag in zip(sentence.words, sentence.entities, strict=True):
                if word in lexicon.AMBIGUOUS_NAMES:
                    assert tag != "O"
                    here[word].add(tag[2:])
        for word, kinds in here.items():
            assert len(kinds) == 1
            kinds_of[word] |= kinds
    assert {word: set(kinds) for word, kinds in lexicon.AMBIGUOUS_NAMES.items()} == kinds_of


def test_some_mentions_are_bare_and_some_are_telling(corpus):
    """Only then can the rest of a document help with a name."""
    repeated = mixed = 0
    for document in documents(corpus):
        mentions = defaultdict(list)
        for sentence in document:
            words, tags = ["", *sentence.words], ["O", *sentence.entities, "O"]
            for i in range(1, len(words)):
                if words[i] in lexicon.AMBIGUOUS_NAMES:
                    several_words = tags[i].startswith("I-") or tags[i + 1].startswith("I-")
                    mentions[words[i]].append(several_words or words[i - 1].lower() in ("in", "mr.", "mrs."))
        repeated += sum(len(seen) > 1 for seen in mentions.values())
        mixed += sum(len(set(seen)) > 1 for seen in mentions.values())
    assert repeated > 200
    assert 0.3 < mixed / repeated < 0.9


def test_conllu_round_trip(tmp_path, corpus):
    path = tmp_path / "toy.conllu"
    write_conllu(path, corpus[:400])
    parsed = conllu.parse(path.read_text(encoding="utf-8"))
    assert len(parsed) == 400
    for number, (tree, sentence) in enumerate(zip(parsed, corpus, strict=False), 1):
        assert [token["form"] for token in tree] == sentence.words
        assert [token["xpos"] for token in tree] == sentence.pos
        assert [token["head"] for token in tree] == sentence.heads
        assert [token["deprel"] for token in tree] == sentence.relations
        assert tree.metadata["sent_id"] == f"toy-{number}"
        assert ("newdoc id" in tree.metadata) == sentence.new_document
        text = "".join(t["form"] if t["misc"] else t["form"] + " " for t in tree).strip()
        assert tree.metadata["text"] == text
        assert all(token["upos"] == "AUX" for token in tree if token["deprel"].startswith("aux"))
        tree.to_tree()


def test_conll_round_trip(tmp_path, corpus):
    path = tmp_path / "toy.conll"
    write_conll(path, corpus[:100])
    blocks = path.read_bytes().decode("utf-8").split("\n\n")
    assert blocks.pop() == ""
    for block, sentence in zip(blocks, corpus[:100], strict=True):
        rows = [tuple(line.split(" ")) for line in block.split("\n")]
        assert rows == list(zip(sentence.words, sentence.pos, sentence.chunks, strict=True))
    write_conll(path, corpus[:100], columns=("word", "pos", "chunk", "entity", "head"))  # marks documents
    blocks = path.read_text(encoding="utf-8").split("\n\n")[:-1]
    starts = [block for block in blocks if block.startswith("-DOCSTART-")]
    assert starts == ["-DOCSTART- -X- O O -X-"] * sum(sentence.new_document for sentence in corpus[:100])
    assert blocks[0] == starts[0]
    assert len(blocks) == 100 + len(starts)
    assert [int(line.split()[4]) for line in blocks[1].split("\n")] == corpus[0].heads


def test_unknown_column(tmp_path, corpus):
    with pytest.raises(StructronError, match=r"unknown column 'lemma'.*word, pos, chunk, entity, head"):
        write_conll(tmp_path / "toy.conll", corpus[:1], columns=("word", "lemma"))
    assert not (tmp_path / "toy.conll").exists()


def test_corpora_dir(tmp_path, monkeypatch):
    monkeypatch.delenv("STRUCTRON_DATA", raising=False)
    assert corpora.corpora_dir() is None
    monkeypatch.setenv("STRUCTRON_DATA", str(tmp_path))
    assert corpora.corpora_dir() == tmp_path
    (tmp_path / "other").mkdir()
    assert corpora.corpora_dir(str(tmp_path / "other")) == tmp_path / "other"
    monkeypatch.setenv("STRUCTRON_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(StructronError, match=r"nowhere.*STRUCTRON_DATA"):
        corpora.corpora_dir()


def test_find_corpus(tmp_path):
    (tmp_path / "news").mkdir()
    (tmp_path / "news" / "train.conll.gz").touch()
    assert corpora.find(tmp_path, "news", "train") == tmp_path / "news" / "train.conll.gz"
    (tmp_path / "news" / "train.conllu").touch()
    assert corpora.find(tmp_path, "news", "train").name == "train.conllu"
    with pytest.raises(StructronError, match=r"'news' has no split 'dev'.*dev.conllu"):
        corpora.find(tmp_path, "news", "dev")
    with pytest.raises(StructronError, match="no corpus 'web'"):
        corpora.find(tmp_path, "web", "train")
