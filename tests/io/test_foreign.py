"""Sentences of other libraries go into fit and predict as they are; one sentence alone is recognised."""

import inspect
from types import SimpleNamespace

import pytest

import structron
from structron import Chunker, EntityRecognizer, Parser, StructronError, Tagger
from structron.data.toy_english import toy_english, write_conll, write_conllu
from structron.estimator import Estimator
from structron.io.foreign import as_rows

TOY = toy_english(60, seed=2)
ROWS = [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in TOY]
QUICK = {"passes": 2, "runs": 1}


@pytest.fixture(scope="module")
def tagger():
    return Tagger(**QUICK).fit([[(w, t) for w, t, _ in sentence] for sentence in ROWS])


@pytest.fixture(scope="module")
def chunker():
    return Chunker(**QUICK).fit(ROWS)


def test_files_just_read(tmp_path, chunker):
    write_conll(tmp_path / "a.conll", TOY)
    from_file = Chunker(**QUICK).fit(structron.read(tmp_path / "a.conll"))
    assert from_file.predict(ROWS) == chunker.predict(ROWS)
    assert from_file.predict(structron.read(tmp_path / "a.conll")) == chunker.predict(ROWS)
    assert from_file.score(structron.read(tmp_path / "a.conll")) == chunker.score(ROWS)
    assert from_file.nbest(structron.read(tmp_path / "a.conll"), 2) == chunker.nbest(ROWS, 2)


def test_every_estimator_loads_its_own_models(tmp_path, tagger):
    tagger.save(tmp_path / "m")
    assert Tagger.load(tmp_path / "m").predict([["A", "dog"]]) == tagger.predict([["A", "dog"]])
    with pytest.raises(StructronError, match="a tagger model; expected a chunker model"):
        Chunker.load(tmp_path / "m")


# -- pandas ----------------------------------------------------------------------------------------------------------


def test_data_frames(chunker):
    pandas = pytest.importorskip("pandas")
    tokens = [(s, *row) for s, sentence in enumerate(ROWS) for row in sentence]
    frame = pandas.DataFrame(tokens, columns=["sentence", "word", "pos", "chunk"])
    model = Chunker(**QUICK).fit(frame)
    assert model.predict(frame) == chunker.predict(ROWS)
    assert model.predict(frame.drop(columns="chunk")) == chunker.predict(ROWS)
    sparse = frame.rename(columns={"sentence": "Sentence #"})
    sparse["Sentence #"] = sparse["Sentence #"].where(~sparse["Sentence #"].duplicated())
    assert list(as_rows(sparse, ["word", "pos", "chunk"])) == [[list(row) for row in s] for s in ROWS]
    mixed = frame[["chunk", "sentence", "word", "pos"]]
    assert list(as_rows(mixed, ["word", "pos", "chunk"])) == [[list(row) for row in s] for s in ROWS]
    with pytest.raises(StructronError, match="a frame with columns word, pos, chunk; expected one named sentence"):
        Chunker().fit(frame.drop(columns="sentence"))


# -- Hugging Face ----------------------------------------------------------------------------------------------------

NAMES = sorted({chunk for sentence in ROWS for *_, chunk in sentence})


class Dataset(list):
    """What a `datasets.Dataset` has: rows, and features that name the numbers of their labels."""

    @property
    def features(self):
        label = SimpleNamespace(feature=SimpleNamespace(names=NAMES))
        return {"tokens": SimpleNamespace(feature=SimpleNamespace(dtype="string")), "chunk_tags": label}


def rows_of(sentences):
    return Dataset(
        {"id": str(k), "tokens": [w for w, *_ in s], "chunk_tags": [NAMES.index(c) for *_, c in s]}
        for k, s in enumerate(sentences)
    )


def test_rows_of_a_data_set():
    pairs = [[(w, c) for w, _, c in sentence] for sentence in ROWS]
    plain, model = Chunker(**QUICK).fit(pairs), Chunker(**QUICK).fit(rows_of(ROWS))
    assert model.predict(rows_of(ROWS)) == plain.predict(pairs)
    assert model.predict([{"tokens": ["A", "dog"]}]) == plain.predict([["A", "dog"]])
    assert model.score(rows_of(ROWS)) == plain.score(pairs)


def test_a_row_by_itself_and_a_slice():
    """Neither names the numbers of its labels, which are not needed to predict; a slice is a list for each column."""
    model = Chunker(**QUICK).fit(rows_of(ROWS))
    rows = list(rows_of(ROWS))
    expected = model.predict(rows_of(ROWS))
    assert model.predict(rows[:3]) == expected[:3]
    assert model.predict({name: [row[name] for row in rows[:3]] for name in rows[0]}) == expected[:3]
    with pytest.raises(
        StructronError, match=r"training data: parts train, test; expected one of them: data\['train'\]"
    ):
        Chunker().fit({"train": rows_of(ROWS), "test": rows_of(ROWS)})
    with pytest.raises(StructronError, match="expected a list of sentences"):
        model.predict({"tokens": ["A", "dog"]})


def test_the_real_data_sets():
    """The library is large and no part of the tests' environment; where it is there, it is looked at."""
    datasets = pytest.importorskip("datasets")
    tags = datasets.List(datasets.ClassLabel(names=NAMES))
    features = datasets.Features({"tokens": datasets.List(datasets.Value("string")), "chunk_tags": tags})
    rows = [{"tokens": row["tokens"], "chunk_tags": row["chunk_tags"]} for row in rows_of(ROWS)]
    real = datasets.Dataset.from_list(rows, features=features)
    model, imitated = Chunker(**QUICK).fit(real), Chunker(**QUICK).fit(rows_of(ROWS))
    expected = imitated.predict(rows_of(ROWS))
    assert model.predict(real) == model.predict(real.to_iterable_dataset()) == expected
    assert model.predict(real[:3]) == model.predict([real[k] for k in range(3)]) == expected[:3]
    assert model.score(real) == imitated.score(rows_of(ROWS))
    with pytest.raises(StructronError, match="expected one of them: data"):
        model.predict(datasets.DatasetDict({"train": real}))


def test_entities_of_a_data_set_of_texts():
    rows = [{"tokens": ["Ann", "saw", "Bob"], "ner_tags": ["B-PER", "O", "B-PER"]}] * 5
    model = EntityRecognizer(**QUICK).fit(rows)
    assert model.predict(rows[:1]) == [["B-PER", "O", "B-PER"]]


def test_mistakes_in_rows_of_a_data_set():
    with pytest.raises(StructronError, match="sentence 1: ner_tags: number 3 has no name"):
        EntityRecognizer().fit([{"tokens": ["a"], "ner_tags": [3]}])
    with pytest.raises(StructronError, match="sentence 1: 2 tokens, 1 tags"):
        EntityRecognizer().fit([{"tokens": ["a", "b"], "ner_tags": ["O"]}])
    with pytest.raises(StructronError, match="sentence 2 has id; expected tokens"):
        EntityRecognizer().fit([{"tokens": ["a"], "ner_tags": ["O"]}, {"id": 3}])


# -- spaCy and NLTK --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def docs():
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc

    vocab, found = spacy.blank("en").vocab, []
    for s in TOY:
        given = {"words": s.words, "tags": s.pos, "pos": ["NOUN"] * len(s.words), "ents": s.entities}
        heads = [k if h == 0 else h - 1 for k, h in enumerate(s.heads)]
        found.append(Doc(vocab, **given, heads=heads, deps=s.relations))
    return found


def test_documents_of_spacy(docs):
    model = Tagger(**QUICK, columns=["word", "xpos"]).fit(docs)
    plain = Tagger(**QUICK, columns=["word", "xpos"]).fit([[(w, t) for w, t, _ in s] for s in ROWS])
    assert model.predict(docs) == plain.predict([[w for w, *_ in s] for s in ROWS])
    assert model.predict(docs[0]) == model.predict(docs[:1])
    entities = EntityRecognizer(**QUICK).fit(docs)
    assert {label for row in entities.predict(docs) for label in row} > {"O"}
    with pytest.raises(StructronError, match="spaCy's tokens have no 'chunk'"):
        Chunker().fit(docs)


def test_models_of_files_label_documents_of_spacy(docs, chunker, tmp_path):
    """spaCy has no column for chunks, nor for some of CoNLL-U; spaces are no words, and sentences may be unmarked."""
    from spacy.tokens import Doc

    pairs = [[("A", "NOUN"), ("dog", "NOUN"), ("barks", "NOUN")]]
    vocab = docs[0].vocab
    doc = Doc(vocab, words=["A", "\n", "dog", "barks"], pos=["NOUN", "SPACE", "NOUN", "NOUN"])
    assert chunker.predict([doc]) == chunker.predict(pairs)
    write_conllu(tmp_path / "a.conllu", TOY)
    parser = Parser(passes=1, runs=1).fit(structron.read(tmp_path / "a.conllu"))
    assert parser.predict([doc]) == parser.predict(pairs)
    heads = Doc(vocab, words=["A", "\n", "dog"], heads=[2, 2, 2], deps=["det", "", "ROOT"])
    columns = ["id", "word", "head", "deprel"]
    assert as_rows([heads], columns)[0] == [["1", "A", "2", "det"], ["2", "dog", "0", "ROOT"]]


def test_a_parser_learns_from_documents_of_spacy(docs):
    model = Parser(passes=1, runs=1, pos="xpos", columns=["word", "xpos", "head", "deprel"]).fit(docs)
    trees = [list(zip(map(str, s.words), s.pos, map(str, s.heads), s.relations, strict=True)) for s in TOY]
    plain = Parser(passes=1, runs=1, pos="xpos", columns=["word", "xpos", "head", "deprel"]).fit(trees)
    assert model.predict(docs[:9]) == plain.predict(trees[:9])


def test_sentences_of_nltk(chunker):
    nltk = pytest.importorskip("nltk")
    trees = [nltk.chunk.conlltags2tree([tuple(row) for row in sentence]) for sentence in ROWS]
    assert Chunker(**QUICK).fit(trees).predict(ROWS) == chunker.predict(ROWS)
    tagged = [[nltk.tag.str2tuple(f"{w}/{t}") for w, t, _ in sentence] for sentence in ROWS]
    assert Tagger(**QUICK).fit(tagged).predict([["A", "dog"]]) != [[]]


# -- a parser and pairs; mistakes ------------------------------------------------------------------------------------


def test_one_sentence_of_rows_is_recognised_by_a_model(chunker, tagger):
    """Only where words alone cannot do: a tagger of words takes any sentence of texts."""
    said = r"data: sentence 1 is \('The', 'DT'\): words without their other columns, or one token; expected a list of"
    with pytest.raises(StructronError, match=said):
        chunker.predict([("The", "DT"), ("dog", "NN")])
    assert len(tagger.predict([("The", "dog"), ("barks",)])) == 2


def test_a_parser_of_conllu_takes_pairs(tmp_path):
    write_conllu(tmp_path / "a.conllu", TOY)
    parser = Parser(passes=1, runs=1).fit(structron.read(tmp_path / "a.conllu"))
    (tree,) = parser.predict([[("The", "DET"), ("dog", "NOUN"), ("barks", "VERB")]])
    assert len(tree) == 3
    assert sum(head == 0 for head, _ in tree) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [("The", "DET"), ("dog", "NOUN")],
            r"sentence 1 is \('The', 'DET'\): words without labels, or one token; expected a list of sentences",
        ),
        ([["The", "DET"], ["dog", "NOUN"]], "one token;"),
        (["The", "dog"], "sentence 1 is 'The';"),
        ("The dog", "'The dog';"),
        (None, "None;"),
        (7, "7;"),
        ({"a": 1}, "expected a list of sentences"),
        ([[1, 2]], "training data"),
    ],
)
def test_wrong_data_get_a_line(given, message):
    with pytest.raises(StructronError, match=message):
        Tagger().fit(given)


@pytest.mark.parametrize("given", ["The dog", None, 7, ["The", "dog"], {"a": 1}])
def test_wrong_data_to_predict_get_a_line(tagger, given):
    for method in (tagger.predict, tagger.score, tagger.evaluate):
        with pytest.raises(StructronError, match="expected a list of sentences"):
            method(given)


# -- in an editor -----------------------------------------------------------------------------------------------------


def test_no_method_that_users_call_hides_its_options():
    """A notebook and `help` can only show parameters that have names; those of a class are its options."""
    kinds = [kind for kind in (getattr(structron, name) for name in structron.__all__) if isinstance(kind, type)]
    methods = ("fit", "partial_fit", "predict", "nbest", "evaluate", "score", "inspect", "explain")
    estimators = [kind for kind in kinds if issubclass(kind, Estimator)]
    assert len(estimators) > 8
    for kind in estimators:
        for shown in (kind, *(getattr(kind, method) for method in methods)):
            known = inspect.signature(shown).parameters.values()
            assert not [p for p in known if p.kind is p.VAR_KEYWORD], f"{kind.__name__}: {shown.__qualname__}"
