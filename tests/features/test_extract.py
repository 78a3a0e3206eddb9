"""From sentences to hashed, numbered and named features, against features made of strings."""

import itertools
from collections import Counter
from itertools import islice
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from helpers import PreparedExamples
from structron.errors import StructronError
from structron.features import extract, index, names
from structron.features.extract import TemplateExtractor
from structron.features.gazetteer import Gazetteer
from structron.features.index import look_up, number_features
from structron.features.names import Names
from structron.features.templates import parse_templates
from structron.io import read
from structron.kernels.table import build_table, hash_list

COLUMNS = ["word", "pos", "label"]
TEMPLATES = [
    "w[0]",
    "w[-1]|w[0]",
    "suffix2[0]",
    "digit[0]",
    "pos[1]",
    "pos[-2]|class[0]|pos[0]",
    "pos.lower[0]|norm[1]",
]
PAIRED = ["pos[0]&y", "w[-12]|w[0]|w[11]&y", "upper[0]&y"]
texts = st.text(st.sampled_from("abAB1-|=ßİ𝒳٣ "), min_size=1, max_size=4) | st.text(min_size=1, max_size=3)
rows = st.tuples(texts, st.sampled_from(["N", "V", "d"]), st.sampled_from(["X", "Y"]))
corpora = st.lists(st.lists(rows, max_size=5), max_size=6)


def extractor(templates: list[str], columns: list[str] = COLUMNS, **more) -> TemplateExtractor:
    return TemplateExtractor(columns, columns[-1], parse_templates(templates), **more)


def expected(sentences, templates: list[str]) -> list[list[str]]:
    """Per token, its features as strings."""
    return [brute.features(templates, COLUMNS, "word", s, i) for s in sentences for i in range(len(s))]


def per_token(ptr: np.ndarray, flat: list) -> list[list]:
    return [flat[lo:hi] for lo, hi in itertools.pairwise(ptr)]


def assert_features(sentences, templates: list[str], **more) -> None:
    """Hashes and names are those of the definition: token by token, the same hash exactly where the string is the same;
    names written by compiled code, described one by one, made by the slow way: three times the same."""
    prepared = extractor(templates, **more).prepare(sentences)
    token_of = [(s, i) for s, sentence in enumerate(sentences) for i in range(len(sentence))]
    for paired in (False, True):
        ptr, hashes, values = (prepared.pair_hashes if paired else prepared.hashes)(0, len(sentences))
        strings = expected(sentences, [text for text in templates if text.endswith("&y") == paired])
        flat = [name for token in strings for name in token]
        assert np.diff(ptr).tolist() == list(map(len, strings))
        meaning = dict(zip(hashes.tolist(), flat, strict=True))
        assert [meaning[key] for key in hashes.tolist()] == flat
        assert len(meaning) == len(set(flat))
        assert len(values) == 0
        tokens = np.repeat(np.arange(len(token_of)), np.diff(ptr))
        assert prepared.names(hashes, tokens, paired).all() == flat
        for token, (s, _) in enumerate(token_of):
            described = list(prepared.describe(s, token, paired))
            assert [name for _, name, _ in described] == strings[token]
            assert [key for key, _, _ in described] == hashes[ptr[token] : ptr[token + 1]].tolist()


@given(corpora, st.sampled_from([1, 2, 100]))
@settings(max_examples=200)
def test_features_are_those_of_the_definition(sentences, together):
    """However many sentences, and names, are looked at together."""
    with mock.patch.object(extract, "BATCH_SENTENCES", together), mock.patch.object(names, "STEP", together):
        assert_features(sentences, TEMPLATES + PAIRED)


@given(corpora, st.data())
@settings(max_examples=50)
def test_a_batch_has_the_hashes_it_has_in_the_whole(sentences, data):
    prepared = extractor(TEMPLATES).prepare(sentences)
    lo = data.draw(st.integers(0, len(sentences)))
    hi = data.draw(st.integers(lo, len(sentences)))
    ptr, hashes, _ = prepared.hashes(0, len(sentences))
    part_ptr, part, _ = prepared.hashes(lo, hi)
    first, last = prepared.starts[lo], prepared.starts[hi]
    assert part.tolist() == hashes[ptr[first] : ptr[last]].tolist()
    assert part_ptr.tolist() == (ptr[first : last + 1] - ptr[first]).tolist()


FUNCTIONS = ["w", "lower", "norm", "shape", "class", "digit", "upper", "hyphen", "stem", "ending"]
AFFIXES = [f"{side}{k}" for side in ("prefix", "suffix", "lprefix", "lsuffix") for k in (1, 2, 3, 9)]


def test_all_kinds_of_atoms_have_names():
    templates = [f"{name}[{k}]" for name in [*FUNCTIONS, *AFFIXES, "pos.lprefix1"] for k in (-1, 0, 1)]
    assert_features([[("İstanbul-34", "N", "X"), ("ßharp²", "Vb", "Y")], [("𝒳", "d", "X")]], templates)


@pytest.mark.parametrize(
    ("templates", "word"),
    [(["w[-99]|w[0]|w[99]", "w[-10]|w[9]"], "a"), (["w[0]|w[0]", "lower[0]"], "long" * 100)],
    ids=["far outside", "more than the first guess has room for"],
)
def test_long_names_are_written_whole(templates, word):
    assert_features([[(word, "N", "X")]], templates)


def test_features_that_look_alike():
    """The same text in two templates is two features; a word like the name of a place outside is still a word."""
    prepared = extractor(["w[0]", "w[1]", "pos[0]", "pos[0]&y"]).prepare([[("N", "N", "X"), ("N", "N", "X")]])
    assert len({*prepared.hashes(0, 1)[1].tolist(), *prepared.pair_hashes(0, 1)[1].tolist()}) == 5
    prepared = extractor(["w[-1]", "w[1]"]).prepare([[("<s1>", "N", "X"), ("</s1>", "N", "X"), ("<s1>", "N", "X")]])
    hashes = prepared.hashes(0, 1)[1].tolist()
    assert len(set(hashes[0::2])) == len(set(hashes[1::2])) == 3


# -- numbers -------------------------------------------------------------------------------------------------------


def examples_of(tokens: list[list[list[str]]]) -> list[brute.Example]:
    """Features have the values 1, 2, 3 … in a token."""
    plain = [[[(name, float(k)) for k, name in enumerate(token, 1)] for token in s] for s in tokens]
    return [brute.Example(found, y=("X",) * len(found)) for found in plain]


feature_lists = st.lists(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=4), max_size=4), max_size=8)


known_lists = st.lists(st.sampled_from("abcxyz"), unique=True)


@given(feature_lists, st.integers(0, 4), known_lists, st.booleans(), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=200)
def test_numbers_count_cut_off_and_rank(tokens, cutoff, known, values, jobs, batch):
    """Features seen `cutoff` times or more keep a number, frequent ones a low one; known ones always keep theirs.

    Equally frequent ones are numbered as they are first seen, on any number of threads.
    """
    examples = examples_of(tokens)
    prepared = PreparedExamples(examples, values)
    with mock.patch.object(index, "BATCH_SENTENCES", batch):
        numbered = number_features(prepared.hashes, prepared.starts, cutoff, hash_list(known) if known else None, jobs)
    flat = [[name for name, _ in token] for x in examples for token in x.plain]
    counts = Counter(name for token in flat for name in token)
    kept = {name for name in counts if name not in known and counts[name] >= cutoff}
    name_of = dict(zip(hash_list(sorted({*counts, *known})).tolist(), sorted({*counts, *known}), strict=True))
    names = [name_of[key] for key in numbered.keys.tolist()]
    assert names[: len(known)] == known
    assert set(names[len(known) :]) == kept
    assert len(names) == len(known) + len(kept)
    frequencies = [counts[name] for name in names[len(known) :]]
    assert frequencies == sorted(frequencies, reverse=True)
    seen = [name for name in counts if name in kept]  # as they are first seen
    assert names[len(known) :] == sorted(seen, key=lambda name: -counts[name])
    found = per_token(numbered.ptr, numbered.numbers.tolist())
    assert [[names[k] for k in token] for token in found] == [
        [name for name in token if name in kept or name in known] for token in flat
    ]
    assert numbered.tokens[: len(known)].tolist() == [-1] * len(known)
    for name, token in zip(names[len(known) :], numbered.tokens[len(known) :].tolist(), strict=True):
        assert name in flat[token]
        assert all(name not in earlier for earlier in flat[:token])
    kept_values = [value for x in examples for token in x.plain for name, value in token if name in {*kept, *known}]
    assert numbered.values.tolist() == (kept_values if values else [])


@given(st.lists(st.integers(1, 3) | st.integers(65_533, 65_538) | st.integers(1, 1 << 60), max_size=12))
def test_counts_beyond_16_bits_are_sorted_too(counts):
    found = index._by_count(np.array(counts, np.int64)).tolist()
    assert found == sorted(range(len(counts)), key=lambda k: -counts[k])


@pytest.mark.parametrize("batch", [1, 3, 10_000])
def test_more_features_than_the_first_table_has_room_for(batch, monkeypatch):
    """A corpus whose end has far more features than its start promised."""
    monkeypatch.setattr(index, "BATCH_SENTENCES", batch)
    tokens = [[[f"s{s}"]] for s in range(20)]
    tokens += [[[f"f{s}.{k}" for k in range(50)] * 2] for s in range(400)]
    prepared = PreparedExamples(examples_of(tokens))
    numbered = number_features(prepared.hashes, prepared.starts, 0, jobs=2)
    assert len(numbered.keys) == 20 + 400 * 50
    assert len(numbered.numbers) == 20 + 400 * 100
    assert numbered.keys[numbered.numbers].tolist() == prepared.hashes(0, 420)[1].tolist()


def test_the_cut_off_counts_over_all_batches(monkeypatch):
    monkeypatch.setattr(index, "BATCH_SENTENCES", 2)
    prepared = PreparedExamples(examples_of([[["a"]], [["b"]], [["c"]], [["a"]], [["b", "b"]]]))
    numbered = number_features(prepared.hashes, prepared.starts, 2)
    assert numbered.keys.tolist() == hash_list(["b", "a"]).tolist()
    assert numbered.ptr.tolist() == [0, 1, 2, 2, 3, 5]


@given(feature_lists, st.lists(st.sampled_from("abcxyz"), unique=True), st.booleans())
def test_look_up_finds_what_a_model_knows(tokens, known, values):
    examples = examples_of(tokens)
    prepared = PreparedExamples(examples, values)
    ptr, numbers, found_values = look_up(build_table(hash_list(known)), prepared.hashes(0, len(examples)))
    expected = [[known.index(name) for name, _ in token if name in known] for x in examples for token in x.plain]
    assert per_token(ptr, numbers.tolist()) == expected
    assert len(found_values) == (len(numbers) if values else 0)


# -- names ---------------------------------------------------------------------------------------------------------

name_lists = st.lists(st.text(max_size=4) | st.just("\ud800"), max_size=6)


@given(name_lists, name_lists, st.data())
def test_names_can_be_joined_taken_and_stored(one, two, data):
    names = Names.of(one) + Names(["", "t="], np.ones(len(two), np.uint16), Names.of(two).length, "".join(two))
    plain = one + [f"t={text}" for text in two]
    assert names.all() == plain
    wanted = data.draw(st.lists(st.integers(0, len(plain) - 1), max_size=8)) if plain else []
    taken = names.take(np.array(wanted, np.int64))
    assert taken.all() == [plain[k] for k in wanted]
    assert len(taken) == len(wanted)
    assert Names.from_tensors(taken.heads, taken.tensors()).all() == taken.all()


# -- gazetteers and atoms of one's own -----------------------------------------------------------------------------


def features_at(prepared, s: int, token: int) -> list[str]:
    return [name for _, name, _ in prepared.describe(s, token, False)]


def test_a_gazetteer_is_a_column():
    places = Gazetteer.from_phrases("LOC", ["New York", "Bath"])
    sentences = [[("in", "P", "X"), ("New", "N", "X"), ("York", "N", "X")], [("York", "N", "X"), ("Bath", "N", "X")]]
    prepared = extractor(["gaz_LOC[0]|w[0]"], gazetteers=[places]).prepare(sentences)
    found = [features_at(prepared, s, token)[0] for s, token in ((0, 0), (0, 1), (0, 2), (1, 3), (1, 4))]
    assert [name.partition("=")[2] for name in found] == ["O|in", "B-LOC|New", "I-LOC|York", "O|York", "B-LOC|Bath"]


def test_what_no_template_mentions_gets_templates_of_its_own():
    places = Gazetteer.from_phrases("LOC", ["Bath"])
    made = extractor(["w[0]"], gazetteers=[places], atoms={"size": lambda s, i: str(len(s[i][0]))})
    assert [str(t) for t in made.templates] == [
        *("w[0]", "gaz_LOC[-1]", "gaz_LOC[0]", "gaz_LOC[1]", "gaz_LOC[0]|class[0]", "size[0]")
    ]
    used = extractor(["gaz_LOC[0]|size[1]"], gazetteers=[places], atoms={"size": lambda s, i: "x"})
    assert len(used.templates) == 1


def test_atoms_of_ones_own():
    """They see the sentence and the place, may return anything that can be written, and are named when they fail."""

    def neighbour(sentence, i):
        return sentence[i - 1][1] if i else None

    sentences = [[("a", "N", "X"), ("b", "V", "X")], [], [("c", "N", "X")]]
    prepared = extractor(["before[0]", "before[1]", "before.lower[0]"], atoms={"before": neighbour}).prepare(sentences)
    assert features_at(prepared, 0, 0) == ["before[0]=none", "before[1]=N", "before.lower[0]=none"]
    assert features_at(prepared, 0, 1) == ["before[0]=N", "before[1]=</s1>", "before.lower[0]=n"]
    assert features_at(prepared, 2, 2) == ["before[0]=none", "before[1]=</s1>", "before.lower[0]=none"]
    answers = iter(["", None, 7, True, "x"])
    prepared = extractor(["own[0]"], atoms={"own": lambda s, i: next(answers)}).prepare([[("w", "N", "X")] * 5])
    found = [features_at(prepared, 0, i)[0] for i in range(5)]
    assert found == ["own[0]=none", "own[0]=none", "own[0]=7", "own[0]=True", "own[0]=x"]
    with pytest.raises(StructronError, match=r"atom 'own' failed at token 2 of .*ZeroDivisionError"):
        extractor(["w[0]"], atoms={"own": lambda s, i: str(1 / (1 - i))}).prepare([[("a", "N", "X")] * 2])


# -- forms of input ------------------------------------------------------------------------------------------------


def test_tokens_are_rows_with_or_without_label_or_words():
    words, tags = extractor(["w[0]"]), extractor(["w[0]|pos[0]"])
    expected = words.prepare([["a", "b"]]).hashes(0, 1)[1].tolist()
    for sentence in ([("a", "N", "X"), ("b", "V", "Y")], [["a", "N"], ["b", "V"]], [np.array(["a", "N"]), ("b", "V")]):
        assert words.prepare([sentence]).hashes(0, 1)[1].tolist() == expected
        assert len(tags.prepare([sentence]).hashes(0, 1)[1]) == 2
    assert words.prepare(iter([["a"], ["b"]])).starts.tolist() == [0, 1, 2]


def test_sentences_may_come_one_by_one(monkeypatch):
    """A file is read a batch at a time; words keep their numbers from one batch to the next."""
    monkeypatch.setattr("structron.features.extract.BATCH_SENTENCES", 2)
    sentences = [[("a", "N", "X")], [], [], [], [("b", "V", "Y"), ("a", "N", "Y")], [("a", "V", "X")]]
    whole = extractor(TEMPLATES + PAIRED).prepare(sentences, labelled=True)
    parts = extractor(TEMPLATES + PAIRED).prepare(iter(sentences), labelled=True)
    assert parts.starts.tolist() == whole.starts.tolist() == [0, 1, 1, 1, 1, 3, 4]
    for name in ("hashes", "pair_hashes"):
        assert getattr(parts, name)(0, 6)[1].tolist() == getattr(whole, name)(0, 6)[1].tolist()
    assert parts.label_types == ["X", "Y"]
    assert parts.label_ids.tolist() == [0, 1, 1, 0]
    assert parts.word_types == ["a", "b"]


def test_nothing_to_read():
    for sentences in ([], [[]], [[], []], iter([[], []])):
        for labelled in (False, True):
            prepared = extractor(["w[0]|pos[0]", "pos[0]&y"]).prepare(sentences, labelled=labelled)
            assert prepared.hashes(0, len(prepared.starts) - 1)[1].tolist() == []


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (
            [[("a", "N", "X")], [("a", "N", "X"), ("b", "N")]],
            r"data: sentence 2, token 2: 2 columns; expected rows of 3",
        ),
        ([[("a",)]], r"sentence 1, token 1: 1 columns; expected rows of 3 columns \(word, pos, label"),
        ([[("a", "N", "X", "?")]], "sentence 1, token 1: 4 columns"),
        ([["a"], [("a", "N")]], "sentence 1, token 1: 'a'; expected rows"),
        ([[("a", "N")], ["a"]], "sentence 2, token 1: 'a'; expected rows"),
        ([[("a", "N"), None]], "sentence 1, token 2: None; expected rows"),
        ([[7]], "sentence 1, token 1: 7; expected rows"),
        ([[{"word": "a", "pos": "N"}]], "sentence 1, token 1: {'word': 'a', 'pos': 'N'}; expected rows"),
        ([[b"ab"]], "sentence 1, token 1: b'ab'; expected rows"),
        (["the dog"], "sentence 1 is 'the dog'; expected a list of tokens"),
        ([["a"], 7], "sentence 2 is 7; expected a list of tokens"),
        ([["a"]], "no column 'pos', which a template uses; the tokens have: word"),
        ([[(1, "N")]], "column 'word': expected strings, found 1"),
        ([[("a", None)]], "column 'pos': expected strings, found None"),
        ([[("a", ["N"])]], r"column 'pos': expected strings, found \['N'\]"),
        ([[("a", "N"), ("b", float("nan"))]], "column 'pos': expected strings, found nan"),
    ],
)
def test_bad_tokens_are_told_by_their_place(sentences, message):
    with pytest.raises(StructronError, match=message):
        extractor(["w[0]|pos[0]"]).prepare(sentences)


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("one", [("a", "N", "X"), ("a", "N"), "a"])
@pytest.mark.parametrize("two", [("a", "N", "X"), ("a", "N"), "a"])
def test_all_tokens_are_alike(one, two, batch, monkeypatch):
    """Sentences that are looked at apart must have the same columns, as those that are looked at together."""
    monkeypatch.setattr(extract, "BATCH_SENTENCES", batch)
    reader = extractor(["w[0]"])
    if len(one) == len(two):
        assert len(reader.prepare([[one], [], [two]]).starts) == 4
    else:
        with pytest.raises(StructronError, match=r"data: sentence [13], token 1: .*; expected rows of 3 columns"):
            reader.prepare([[one], [], [two]])


def test_bad_words_meet_a_gazetteer():
    places = Gazetteer.from_phrases("LOC", ["Bath"], lowercase=True)
    with pytest.raises(StructronError, match="column 'word': expected strings, found None"):
        extractor(["w[0]"], gazetteers=[places]).prepare([[("a", "N"), (None, "N")]])


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (("a", "N"), "dev data: no column 'label'; the tokens have: word, pos"),
        ("a", "no column 'label'; the tokens have: word"),
        (("a", "N", 3), "column 'label': expected strings, found 3"),
    ],
)
def test_labels_must_be_there_and_be_strings(token, message):
    with pytest.raises(StructronError, match=message):
        extractor(["w[0]"]).prepare([[token]], labelled=True, what="dev data")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("label[0]", "'label' is the label column and cannot be an input"),
        ("w[0]|label[-1]", "'label' is the label column and cannot be an input"),
        ("label.lower[0]", r"unknown atom 'label\.lower'; columns: word, pos"),
        ("lemma[0]", "unknown atom 'lemma'; columns: word, pos; built in"),
    ],
)
def test_columns_that_templates_cannot_use(template, message):
    with pytest.raises(StructronError, match=message):
        extractor([template])


@pytest.mark.corpora
@pytest.mark.parametrize(
    "corpus", ["ud-arabic-padt", "ud-chinese-gsd", "ud-turkish-imst", "ud-greek-gdt", "ud-hungarian-szeged"]
)
def test_real_text_of_many_scripts(corpus, corpora):
    """Hashes and names of the words of real corpora, against the slow definition."""
    path = corpora / corpus / "test.conllu.gz"
    sentences = [[(row[1], row[3], "X") for row in s.rows] for s in islice(read(path), 60)]
    templates = [f"{name}[0]" for name in FUNCTIONS + AFFIXES] + ["w[-1]|shape[0]|pos[1]", "norm[-2]|lsuffix2[2]"]
    assert_features(sentences, templates)
