"""`structron.spacy`: what a pipeline finds, on spaCy's tokens, in a real spaCy."""

import doctest
import pickle
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import structron
from helpers import run_python
from structron.data.toy_english import NO_SPACE_BEFORE, UNIVERSAL, ToySentence, toy_english
from structron.io.doc import Doc, docs_from_conllu
from structron.tasks.pipeline.pipeline import Pipeline
from toy import chunk_rows

spacy = pytest.importorskip("spacy")

from spacy.tokens import Doc as SpacyDoc  # noqa: E402
from spacy.tokens import Span  # noqa: E402

from structron.spacy import Component, _matched  # noqa: E402

FEATS = {"NN": "Number=Sing", "NNS": "Number=Plur", "NNP": "Number=Sing", "VBD": "Tense=Past|VerbForm=Fin"}
ATTRIBUTES = ["TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "ENT_IOB", "ENT_TYPE"]


def lines(sentence: ToySentence) -> list[str]:
    """A sentence in CoNLL-U, with lemmas, features and entities."""
    glued = [word in NO_SPACE_BEFORE for word in sentence.words[1:]] + [False]
    found = ["# newdoc\n"] * sentence.new_document
    layers = (sentence.words, sentence.pos, sentence.heads, sentence.relations, sentence.entities, glued)
    for number, (word, tag, head, relation, entity, glue) in enumerate(zip(*layers, strict=True), 1):
        lemma = word.lower().removesuffix("s") if tag == "NNS" else word.lower()
        misc = "|".join([f"NER={entity}"] * (entity != "O") + ["SpaceAfter=No"] * glue) or "_"
        row = (number, word, lemma, UNIVERSAL[tag], tag, FEATS.get(tag, "_"), head, relation, "_", misc)
        found.append("\t".join(map(str, row)) + "\n")
    return [*found, "\n"]


@pytest.fixture(scope="session")
def docs() -> list[Doc]:
    return list(docs_from_conllu(line for sentence in toy_english(60, 3) for line in lines(sentence)))


@pytest.fixture(scope="session")
def model(docs, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("spacy") / "toy.structron"
    Pipeline(seed=1, folds=2).fit(docs).save(path)
    return str(path)


def make(model: str, *before: str, **config) -> spacy.Language:
    nlp = spacy.blank("en")
    for name in before:
        nlp.add_pipe(name)
    nlp.add_pipe("structron", config={"model": model, **config})
    return nlp


@pytest.fixture(scope="session")
def nlp(model) -> spacy.Language:
    return make(model)


def values(doc: SpacyDoc) -> list[list[int]]:
    return doc.to_array(ATTRIBUTES).tolist()


def given(nlp: spacy.Language, doc: Doc) -> SpacyDoc:
    """A document with our tokens and sentences for spaCy."""
    words, spaces = [token.form for token in doc.tokens], [bool(token.spaces_after) for token in doc.tokens]
    starts = [k == 0 for sentence in doc for k, _ in enumerate(sentence.tokens)]
    return SpacyDoc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts)


def stub(analyse, *parts: str) -> Component:
    """A component whose pipeline fills words as a function says."""

    def annotate(docs, known, jobs):
        for doc in docs:
            for sentence in doc:
                analyse(sentence.words)

    writes = ("upos", "xpos", "feats", "lemma")
    component = Component()
    component._pipeline = SimpleNamespace(
        annotate=annotate,
        parts_={"tagger": SimpleNamespace(writes=writes)},
        model_=SimpleNamespace(trained=dict.fromkeys(parts)),
    )
    return component


# -- what is found -------------------------------------------------------------------------------------------------


def test_every_column_of_the_pipeline_is_there(nlp, model, docs):
    gold = [doc for doc in docs if len(doc) > 1][:4]
    found = list(nlp.pipe([given(nlp, doc) for doc in gold]))
    own = Pipeline.bare(gold, "tokens")
    structron.load(model).annotate(own, known="tokens")
    assert {entity.label for doc in own for entity in doc.entities} == {"LOC", "ORG", "PER"}
    for ours, theirs in zip(own, found, strict=True):
        words = ours.words
        assert [token.tag_ for token in theirs] == [word.xpos for word in words]
        assert [token.pos_ for token in theirs] == [word.upos for word in words]
        assert [token.lemma_ for token in theirs] == [word.lemma for word in words]
        assert [str(token.morph) or "_" for token in theirs] == [word.feats for word in words]
        assert all(token.has_morph() for token in theirs)
        for sentence, span in zip(ours, theirs.sents, strict=True):
            heads = [0 if token.head == token else token.head.i - span.start + 1 for token in span]
            assert heads == [word.head for word in sentence.words]
            assert [token.dep_.replace("ROOT", "root") for token in span] == [word.deprel for word in sentence.words]
        entities = [(e.label, e.start, e.end, e.text) for e in ours.entities]
        assert [(e.label_, e.start_char, e.end_char, e.text) for e in theirs.ents] == entities
        assert theirs.has_annotation("ENT_IOB", require_complete=True)


def test_from_text(nlp, docs):
    """spaCy's tokens of toy English are the words that it was made of."""
    doc = nlp(docs[0].text)
    assert [token.text for token in doc] == [token.form for token in docs[0].tokens]
    assert sum(token.tag_ == word.xpos for token, word in zip(doc, docs[0].words, strict=True)) > 0.9 * len(doc)
    for span in doc.sents:
        assert [token.i for token in span if token.head == token] == [span.root.i]
        assert all(token.head in span for token in span)
        assert span.root.dep_ == "ROOT"


def test_white_space_hangs_on_the_word_before(nlp, docs):
    first, second = docs[0].sentences[0].text, docs[0].sentences[1].text
    plain = nlp(f"{first} {second}")
    doc = nlp(f" \n{first.replace(' ', '  ', 1)}\n\n{second} \t")
    spaces = [token for token in doc if token.is_space]
    assert [token.text for token in spaces] == [" \n", " ", "\n\n", "\t"]
    assert [token.head.i - token.i for token in spaces] == [1, -1, -1, -1]
    assert {(token.tag_, token.pos_, token.dep_, str(token.morph)) for token in spaces} == {("_SP", "SPACE", "dep", "")}
    assert [token.lemma_ for token in spaces] == [token.text for token in spaces]
    assert [span[0].i for span in doc.sents] == [0, [token.text for token in doc].index("\n\n") + 1]
    words = [token for token in doc if not token.is_space]
    assert [(token.tag_, token.head.text) for token in words] == [(token.tag_, token.head.text) for token in plain]


def test_entities_reach_over_white_space():
    def name(words):
        for word in words:
            word.head = int(word.id > 1)

    component, doc = stub(name, "parser", "entities"), spacy.blank("en")("New  York grows.")
    annotate = component._pipeline.annotate

    def named(docs, known, jobs):
        annotate(docs, known, jobs)
        docs[0].sentences[0].set_entities(["B-LOC", "I-LOC", "O", "O"])

    component._pipeline.annotate = named
    doc[0].is_sent_start, doc[1].is_sent_start = True, False
    assert [(span.text, span.label_) for span in component(doc).ents] == [("New  York", "LOC")]


@pytest.mark.parametrize("sentences", [None, "structron"])
@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \n"])
def test_nothing_to_annotate(model, text, sentences):
    doc = make(model, sentences=sentences)(text)
    assert doc.text == text
    assert [(token.tag_, token.dep_, token.head.i) for token in doc] == [("_SP", "ROOT", 0)] * len(doc)
    assert doc.ents == ()
    assert len(list(doc.sents)) == len(doc)


def test_a_stream_is_what_single_calls_give(nlp, model, docs):
    texts = ["", *(doc.text for doc in docs), " ", "Cairo  won .\n", "."]
    single = [values(nlp(text)) for text in texts]
    assert [values(doc) for doc in nlp.pipe(texts, batch_size=3)] == single
    assert [values(doc) for doc in make(model, jobs=2).pipe(texts)] == single


def test_columns_as_spacy_converts_them():
    """No XPOS: UPOS; a part of speech that is none; features that are none; `_` as a word."""

    def analyse(words):
        for word, upos, feats, lemma in zip(
            words, ("NOUN", "Z", "_"), ("B=c,b|A=d", "odd|A=b", "_"), "a__", strict=True
        ):
            word.upos, word.feats, word.lemma = upos, feats, lemma

    doc = stub(analyse)(SpacyDoc(spacy.blank("en").vocab, words=["A", "b", "_"], sent_starts=[True, False, False]))
    assert [token.tag_ for token in doc] == ["NOUN", "Z", ""]
    assert [token.pos_ for token in doc] == ["NOUN", "X", ""]
    assert [str(token.morph) for token in doc] == ["A=d|B=b,c", "A=b", ""]
    assert [token.lemma_ for token in doc] == ["a", "", "_"]
    assert not doc.has_annotation("DEP")


def test_one_root_for_a_sentence():
    def analyse(words):
        for word, head, relation in zip(words, (2, 0, 0, 3), ("a", "root", "root", "_"), strict=True):
            word.head, word.deprel = head, relation

    component = stub(analyse, "parser")
    doc = component(SpacyDoc(spacy.blank("en").vocab, words=list("abcd"), sent_starts=[True, False, False, False]))
    assert [token.head.i for token in doc] == [1, 1, 1, 2]
    assert [token.dep_ for token in doc] == ["a", "ROOT", "dep", "dep"]
    assert len(list(doc.sents)) == 1


# -- sentences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "starts", "expected"),
    [
        (["x", "a.b", "c"], [0, 4], {0, 1}),  # inside a token
        (["x", "a.b", "c"], [0, 2, 4, 6], {0, 1, 2}),  # twice in a token
        ([" ", "a", "\n", "b"], [1, 5], {0, 3}),  # white space before the first word belongs to its sentence
        (["a", "\n", "b"], [0, 2], {0, 2}),  # in white space
        (["a", "b"], [], {0}),
    ],
)
def test_tokens_that_begin_a_sentence(words, starts, expected):
    assert _matched(SpacyDoc(spacy.blank("en").vocab, words=words), starts) == expected


def test_sentences_of_the_tokenizer(nlp, model, docs):
    tokenizer = structron.load(model).model_.trained["tokenizer"]
    for text in (doc.text for doc in docs):
        starts = [sentence.start for sentence in tokenizer.predict([text])[0]]
        assert [span.start_char for span in nlp(text).sents] == starts
    assert len(starts) > 1


def test_sentences_without_trees():
    def predict(texts, jobs):
        return [Doc.from_spans(text, [[(0, 2)], [(8, 11)]]) for text in texts]

    component = stub(lambda words: None)
    component._pipeline.model_.trained["tokenizer"] = SimpleNamespace(predict=predict)
    doc = component(spacy.blank("en")("He won. She lost."))
    assert [span.text for span in doc.sents] == ["He won.", "She lost."]
    assert not doc.has_annotation("DEP")
    assert doc.has_annotation("SENT_START", require_complete=True)


def every_third(doc):
    for token in doc:
        token.is_sent_start = token.i % 3 == 0
    return doc


spacy.Language.component("every_third", func=every_third)


def test_sentences_that_are_set_are_kept_or_not(model, docs, nlp):
    text = docs[0].text + "\n \nWho won?"
    thirds = [values(make(model, "every_third", **how)(text)) for how in ({}, {"sentences": "keep"})]
    assert thirds[0] == thirds[1]
    doc = make(model, "every_third")(text)
    assert [span.start for span in doc.sents] == list(range(0, len(doc), 3))
    assert all(token.head in span for span in doc.sents for token in span)
    assert values(make(model, "every_third", sentences="structron")(text)) == values(nlp(text))


def test_white_space_at_the_beginning_of_a_sentence_stays_in_it(model):
    nlp = make(model)
    doc = SpacyDoc(nlp.vocab, words=["He", "won", "\n", "\n", "She", "lost", "\n"])
    for token in doc:
        token.is_sent_start = token.i in (0, 2, 6)
    doc = nlp(doc)
    assert [span.start for span in doc.sents] == [0, 2, 6]
    assert [doc[k].head.i for k in (2, 3, 6)] == [4, 4, 6]
    assert [doc[k].dep_ for k in (2, 3, 6)] == ["dep", "dep", "ROOT"]


def test_nothing_to_keep_is_one_line(model):
    with pytest.raises(
        structron.StructronError, match=r"^structron: no sentence starts to keep; expected .*sentencizer"
    ):
        make(model, sentences="keep")("He won. She lost.")
    with pytest.raises(structron.StructronError, match=r"^structron: the model has no tokenizer; expected"):
        stub(lambda words: None)(spacy.blank("en")("He won."))


def test_an_error_names_its_document(model):
    nlp, failed = make(model, sentences="keep"), []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, [doc.text for doc in docs])))
    doc = nlp.make_doc("He won.")
    doc[1].is_sent_start = False
    assert [found.text for found in nlp.pipe([doc, nlp.make_doc("She lost.")])] == ["He won."]
    assert failed == [("structron", ["She lost."])]


# -- what is set already -------------------------------------------------------------------------------------------


def preset(nlp: spacy.Language) -> SpacyDoc:
    doc = nlp.make_doc("Victoria saw Madrid. She left.")
    doc[0].tag_, doc[1].lemma_, doc[2].pos_ = "ODD", "odd", "INTJ"
    doc[3].set_morph("Odd=Yes")
    return doc


def test_overwrite(model):
    nlp = make(model)
    plain = values(nlp(nlp.make_doc("Victoria saw Madrid. She left.")))
    assert values(nlp(preset(nlp))) == plain
    nlp = make(model, overwrite=False)
    doc = nlp(preset(nlp))
    assert (doc[0].tag_, doc[1].lemma_, doc[2].pos_, str(doc[3].morph)) == ("ODD", "odd", "INTJ", "Odd=Yes")
    changed = np.array(values(doc), np.uint64) != np.array(plain, np.uint64)
    assert np.argwhere(changed).tolist() == [[0, 0], [1, 3], [2, 1], [3, 2]]


@pytest.mark.parametrize(("overwrite", "replaced"), [(None, True), (True, True), (False, False)])
def test_a_tree_is_replaced_with_its_sentences_or_stays(model, overwrite, replaced):
    nlp = make(model, overwrite=overwrite, sentences="structron")
    words = ["He", "won", ".", "She", "lost", "."]
    doc = nlp(SpacyDoc(nlp.vocab, words=words, heads=[0, 0, 2, 2, 2, 2], deps=["ROOT", "x", "ROOT", "x", "x", "x"]))
    assert ("x" not in {token.dep_ for token in doc}) is replaced
    assert ([span.start for span in doc.sents] != [0, 2]) is replaced
    assert doc[0].tag_


def test_entities_that_are_set_stay_unless_overwritten(model, docs):
    own = make(model)
    text = next(doc.text for doc in docs if len(own(doc.text).ents) > 2)
    plain = own(text)
    first, *rest = plain.ents

    def found(**config) -> list[tuple[int, int, str]]:
        nlp = make(model, **config)
        doc = nlp.make_doc(text)
        doc.ents = [Span(doc, first.start, first.end + 1, "MINE")]
        return [(span.start, span.end, span.label_) for span in nlp(doc).ents]

    kept = [(first.start, first.end + 1, "MINE"), *((span.start, span.end, span.label_) for span in rest)]
    assert rest[0].start > first.end
    assert found() == found(overwrite=False) == kept
    assert found(overwrite=True) == [(span.start, span.end, span.label_) for span in plain.ents]


# -- options and files ---------------------------------------------------------------------------------------------


def test_mistakes_are_one_line(model, tmp_path):
    tagger = tmp_path / "tagger.structron"
    structron.Tagger(passes=1, columns=["word", "pos", "chunk"]).fit(chunk_rows(5, 1)).save(tagger)
    for config, message in [
        ({"model": "klingon"}, "unknown model 'klingon'; expected one of: a model file"),
        ({"model": str(tagger)}, "a tagger model; expected a pipeline model"),
        ({"sentences": "mine"}, "unknown sentences 'mine'; expected one of: structron, keep"),
        ({"jobs": 0}, "jobs: 0;"),
    ]:
        with pytest.raises(structron.StructronError, match=message) as caught:
            make(**{"model": model, **config})("He won.")
        assert "\n" not in str(caught.value)
    with pytest.raises(structron.StructronError, match="klingon"):
        make("klingon").initialize()


def test_fast(model):
    nlp = make(model, fast=True)
    assert nlp("He won.")[0].dep_
    assert nlp.get_pipe("structron").pipeline.fast
    assert not make(model).get_pipe("structron").pipeline.fast


def test_a_saved_pipeline_needs_no_other_file(model, tmp_path, docs):
    copy = tmp_path / "copy.structron"
    copy.write_bytes(Path(model).read_bytes())
    nlp = make(str(copy), jobs=2)
    expected = [values(nlp(doc.text)) for doc in docs[:3]]
    nlp.to_disk(tmp_path / "saved")
    data = nlp.to_bytes()
    copy.unlink()
    (tmp_path / "saved").rename(tmp_path / "moved")
    loaded = spacy.load(tmp_path / "moved")
    from_bytes = spacy.blank("en").from_config(nlp.config).from_bytes(data)
    for again in (loaded, from_bytes, spacy.blank("en").from_config(loaded.config).from_bytes(loaded.to_bytes())):
        assert [values(again(doc.text)) for doc in docs[:3]] == expected
        component = again.get_pipe("structron")
        assert (component.model, component.jobs) == (str(copy), 2)


def test_a_component_takes_the_name_with_the_model(model):
    data = make(model).get_pipe("structron").to_bytes()
    component = Component(model="klingon").from_bytes(data)
    assert component.model == model
    assert Component().from_bytes(data, exclude=["cfg"]).model == "english"


def test_spacy_finds_it_by_its_name():
    program = """
        import spacy, sys
        assert "structron" not in sys.modules
        component = spacy.blank("de").add_pipe("structron")
        assert component.model == "english" and "numba" not in sys.modules
        import structron.spacy
        assert type(component) is structron.spacy.Component
    """
    done = run_python("\n".join(line.strip() for line in program.splitlines()))
    assert done.returncode == 0, done.stderr[-2000:]
    first = "import structron.spacy, spacy; spacy.blank('en').add_pipe('structron')"
    assert run_python(first).returncode == 0


def test_without_spacy():
    program = """
        import sys
        sys.modules["spacy"] = None
        try:
            import structron.spacy
        except ImportError as error:
            print(error)
    """
    indent = len("        ")
    found = run_python("\n".join(line[indent:] for line in program.splitlines())).stdout
    assert "pip install 'structron[spacy]'" in found


def test_what_spacy_says_of_it(nlp):
    analysis = nlp.analyze_pipes()
    assert {"token.tag", "token.head", "doc.ents"} <= set(analysis["summary"]["structron"]["assigns"])
    assert not any(problems for problems in analysis["problems"].values())


def test_toy_documents_have_their_text(docs):
    """What the tests stand on."""
    for doc in docs:
        assert all(doc.text[token.start : token.end] == token.form for token in doc.tokens)
        assert all(a.end <= b.start for a, b in pairwise(doc.tokens))


SPOKEN = """\
The DET det 2
president NOUN nsubj 9
of ADP case 6
the DET det 6
United PROPN compound 6
States PROPN nmod 2
, PUNCT punct 2
often ADV advmod 9
met VERB ROOT 9
his PRON nmod:poss 11
wife NOUN nmod:poss 14
's PART case 11
very ADV amod 14
dogs NOUN obj 9
and CCONJ cc 16
Barack PROPN conj 14
Obama PROPN flat 16
"""
CHUNKS = ["The president", "the United States", "his wife 's very dogs", "Barack Obama"]


def test_noun_chunks_of_universal_trees():
    """spaCy's own function knows none of `obj`, `nmod` and `obl`."""
    rows = [line.split() for line in SPOKEN.splitlines()]
    nlp = make("english")
    made = SpacyDoc(
        nlp.vocab,
        words=[row[0] for row in rows],
        pos=[row[1] for row in rows],
        deps=[row[2] for row in rows],
        heads=[int(row[3]) - 1 for row in rows],
    )
    assert [chunk.text for chunk in made.noun_chunks] == CHUNKS
    assert [chunk.text for chunk in made[:6].noun_chunks] == CHUNKS[:2]
    spans = pickle.loads(pickle.dumps(nlp.vocab.get_noun_chunks))(made)
    assert [made[begin:end].text for begin, end, _ in spans] == CHUNKS
    other = SpacyDoc(nlp.vocab, words=["Dogs", "bark"], pos=["NOUN", "VERB"], deps=["nsubj", "ROOT"], heads=[1, 1])
    assert [chunk.text for chunk in other.noun_chunks] == ["Dogs"]
    with pytest.raises(ValueError, match="dependency parse"):
        list(SpacyDoc(nlp.vocab, words=["Dogs"]).noun_chunks)


def test_a_model_of_another_language_is_told():
    with pytest.warns(UserWarning, match="model 'english' is for English, and the language of the pipeline is 'de'"):
        spacy.blank("de").add_pipe("structron")


def test_the_example_of_the_component_runs(capsys):
    [example] = doctest.DocTestFinder(recurse=False).find(Component, "Component")
    assert not doctest.DocTestRunner(verbose=False).run(example).failed, capsys.readouterr().out
