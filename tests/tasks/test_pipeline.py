"""From raw text to trees: what is learned of which data, that nothing leaks, and files small and large."""

import copy
import json
import threading
from dataclasses import replace

import pytest

import structron
from estimators import Interrupting, bytes_of, fitted
from structron import Doc, StructronError
from structron.eval.conll18 import ud_scores
from structron.io import modelfile
from structron.learn.loop import timeless
from structron.runtime.progress import Progress
from structron.tasks.chain.labeler import Tagger
from structron.tasks.pipeline import parts, pipeline
from structron.tasks.pipeline.parts import MANY_TAGS, Contents, make_parts
from structron.tasks.scripts import Lemmatizer
from structron.tasks.transducer import Speller
from structron.text.trees import check_tree
from toy import fresh_docs, toy_docs

TRAIN, TEST = toy_docs(150, 3), toy_docs(60, 8)
QUICK = ["parser", "entities"]
ONE = "not trained: the training data have only one label"


@pytest.fixture(scope="module")
def nlp() -> structron.Pipeline:
    return structron.Pipeline(folds=3).fit(TRAIN, dev=toy_docs(40, 5))


class Notes(Progress):
    """What a user would read."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(f"{self.part}: {text}" if self.part else text)


def changed(count: int, **columns) -> list[Doc]:
    """Toy documents whose words all have these values."""
    docs = fresh_docs(count, 3)
    for word in (word for doc in docs for word in doc.words):
        for name, value in columns.items():
            setattr(word, name, value)
    return docs


# -- end to end ----------------------------------------------------------------------------------------------------


def test_raw_text_is_analysed(nlp):
    assert list(nlp.model_.trained) == [name for name in parts.PARTS if not name.startswith("parser-")]
    scores = nlp.evaluate(TEST)
    assert scores.tokens > 98
    assert scores.sentences > 90
    assert min(scores.upos, scores.ufeats, scores.lemmas) > 88
    assert scores.las > 70
    assert [record["part"] for record in nlp.history_] == nlp.names_
    assert all("dev" in done for record in nlp.history_ for done in record["passes"])
    for doc in nlp.predict([doc.text for doc in TEST]):
        assert all(doc.text[token.start : token.end] == token.form for token in doc.tokens)
        assert all(doc.text[word.start : word.end] == word.form for word in doc.words)
        assert all(doc.text[e.start : e.end] == e.text for e in doc.entities)
        for sentence in doc:
            assert [word.id for word in sentence.words] == list(range(1, len(sentence.words) + 1))
            assert [word.head for word in sentence.words].count(0) == 1


def test_multiword_tokens_and_entities_are_found(nlp):
    found = nlp("The guard didn't sleep.\n\nIt doesn't work.")
    assert [t.form for t in found.tokens if t.is_multiword] == ["didn't", "doesn't"]
    assert [[w.form for w in t.words] for t in found.tokens if t.is_multiword] == [["did", "n't"], ["does", "n't"]]
    assert [s.new_paragraph for s in found] == [True, True]
    assert {e.label for doc in nlp.predict([d.text for d in TEST]) for e in doc.entities} == {"PER", "LOC", "ORG"}


def test_what_is_given_is_kept(nlp):
    raw, tokens, tags = nlp.evaluate(TEST), nlp.evaluate(TEST, gold="tokens"), nlp.evaluate(TEST, gold="tags")
    assert (tokens.words, tokens.sentences, tags.words, tags.alltags, tags.lemmas) == (100,) * 5
    assert raw.las <= tokens.las <= tags.las < 100
    assert tokens.upos < 100
    with pytest.raises(StructronError, match="known: 'heads'; expected tokens or tags"):
        nlp.evaluate(TEST, gold="heads")


def test_bare_documents_hold_no_gold(nlp):
    for known, kept in (("tokens", False), ("tags", True)):
        copies = nlp.bare(TEST, known)
        words = [word for doc in copies for word in doc.words]
        assert {(word.head, word.deprel) for word in words} == {(None, "_")}
        assert (any(word.upos != "_" for word in words), any(word.lemma != "_" for word in words)) == (kept, kept)
        assert not any(doc.entities for doc in copies)
    assert any(doc.entities for doc in TEST)


def test_many_texts_one_by_one_and_on_threads(nlp, monkeypatch):
    texts = [doc.text for doc in TEST]
    alone = [nlp(text) for text in texts]
    assert list(nlp.pipe(iter(texts))) == nlp.predict(texts, jobs=2) == alone
    monkeypatch.setattr(pipeline, "BATCH_CHARACTERS", 200)
    assert list(nlp.pipe(texts)) == alone
    endless = nlp.pipe(text for text in iter(lambda: texts[0], None))
    assert next(endless) == next(endless) == alone[0]


def test_a_fast_parser_leaves_the_model_as_it_is(nlp, tmp_path):
    nlp.save(tmp_path / "a")
    fast = structron.load(tmp_path / "a").set_params(fast=True)
    parser = fast.model_.trained["parser"]
    slow, beam = nlp.evaluate(TEST), parser.beam
    assert fast.evaluate(TEST).las > slow.las - 5
    assert parser.beam == beam
    fast.set_params(fast=False).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_several_parsers_vote(tmp_path):
    """The trees of a pipeline are those that its parsers elect; alone the first one is fast. All are in one file."""
    docs = toy_docs(36, 3)
    made = structron.Pipeline(best=True, folds=2, without=["lemmatizer", "entities"]).fit(docs)
    made.save(tmp_path / "m")
    best, sentences = structron.load(tmp_path / "m"), [s for doc in TEST[:8] for s in doc.sentences]
    parsers = list(parts.VOTES)
    assert best.names_ == ["tokenizer", "splitter", "tagger", "morphology", *parsers]
    assert [best.part(name).task for name in parsers] == ["parser", "parser", "graph-parser"]
    assert [getattr(best.part(name), "right_to_left", None) for name in parsers] == [False, True, None]
    rows = [best.parts_["parser"].rows(sentence) for sentence in sentences]
    single = {name: best.part(name).predict(rows) for name in parsers}
    found = best.bare(TEST[:8], "tags")
    best.annotate(found, known="tags")
    trees = [[(word.head, word.deprel) for word in s.words] for doc in found for s in doc.sentences]
    for tree, *own in zip(trees, *single.values(), strict=True):
        assert check_tree([head for head, _ in tree]) is None
        for arc, *given in zip(tree, *own, strict=True):
            assert arc in given
            assert arc == given[0] if given[0] in given[1:] else True
    assert trees not in single.values()
    best.set_params(fast=True).annotate(found, known="tags")
    quick = [[(word.head, word.deprel) for word in s.words] for doc in found for s in doc.sentences]
    assert quick == best.part("parser").predict(rows, beam=2)
    assert best.trace(TEST[0].sentences[0], True, part="parser-backward").gold
    with pytest.raises(StructronError, match="fast and best: cannot be combined"):
        structron.Pipeline(best=True, fast=True).fit(docs)


def test_parts_where_arcs_cross():
    contents = replace(Contents.of(toy_docs(24, 3)), crossing=0.0)
    assert "parser-graph" not in make_parts(contents, ())
    assert not set(parts.VOTES) & set(make_parts(contents, ["parser"], best=True))
    for crossing, projective in ((0.0, True), (parts.CROSSING, False)):
        planned = make_parts(replace(contents, crossing=crossing), ["parser-backward"], best=True)
        assert planned["parser-graph"].settings["projective"] is projective
        assert "parser-backward" not in planned
    docs = fresh_docs(6, 3)
    words = next(s.words for doc in docs for s in doc.sentences if len(s.words) > 4)
    for word, head in zip(words, [3, 4, 0, 3] + [3] * len(words), strict=False):
        word.head = head
    assert Contents.of(docs).crossing == pytest.approx(1 / sum(len(doc.sentences) for doc in docs))


class Paused:
    """A parser's `predict_arcs` that says when it is called, and goes on when it may."""

    def __init__(self, parser, monkeypatch):
        self.called, self.may_go_on = {}, {}
        predict = type(parser).predict_arcs

        def paused(own, *args, **how):
            if (name := threading.current_thread().name) in self.called:
                self.called[name].set()
                assert self.may_go_on[name].wait(60)
            return predict(own, *args, **how)

        monkeypatch.setattr(type(parser), "predict_arcs", paused)

    def start(self, name, work):
        self.called[name], self.may_go_on[name] = threading.Event(), threading.Event()
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        assert self.called[name].wait(60)
        return thread

    def end(self, thread):
        self.may_go_on[thread.name].set()
        thread.join(60)
        assert not thread.is_alive()


def test_fast_and_usual_threads_share_the_parts(nlp, monkeypatch):
    """What one thread asks for changes nothing for others that work meanwhile, and nothing for later."""
    texts, parser = [doc.text for doc in TEST], nlp.part("parser")
    options = [(parser, parser.get_params()), (nlp.part("tokenizer"), nlp.part("tokenizer").get_params())]
    fast = [copy.copy(nlp).set_params(fast=True, lines=lines) for lines in (True, False)]
    alone, usual = [own.predict(texts) for own in fast], nlp.predict(texts)
    assert alone[1] != usual  # so that a beam of another width would be seen
    paused, found = Paused(parser, monkeypatch), {}
    threads = [paused.start(str(k), lambda k=k: found.update({k: fast[k].predict(texts)})) for k in range(2)]
    assert nlp.predict(texts) == usual
    for thread in threads:
        paused.end(thread)
    assert [found[0], found[1], nlp.predict(texts)] == [*alone, usual]
    assert [(part, part.get_params()) for part, _ in options] == options


def test_every_line_can_be_a_paragraph(nlp):
    text = "The guard slept\nIt was late."
    assert len(nlp(text).sentences) == 1 or not nlp(text).sentences[1].new_paragraph
    nlp.lines = True
    try:
        assert [s.text for s in nlp(text)] == text.split("\n")
        assert [s.new_paragraph for s in nlp(text.replace("\n", "\r\n"))] == [True, True]
    finally:
        nlp.lines = False


# -- nothing leaks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_sentence_is_annotated_by_a_tagger_that_saw_it(jobs, monkeypatch):
    docs = fresh_docs(24, 3)
    for number, word in enumerate(word for doc in docs for word in doc.words):
        word.form, word.misc = f"{word.form}{number}", "_"
    for token in (token for doc in docs for token in doc.tokens):
        token.form = "".join(word.form for word in token.words)
    saw: dict[int, set] = {}
    met: list[tuple[int, set]] = []
    lock = threading.Lock()

    def spy(kind):
        fit, predict = kind.fit, kind.predict_column

        def fitting(self, sentences, **given):
            rows = list(sentences)
            with lock:
                saw[id(self)] = {row[0] for sentence in rows for row in sentence}
                kept.append(self)
            return fit(self, rows, **given)

        def predicting(self, table, jobs):
            with lock:
                met.append((id(self), set(table.columns["form"].texts())))
            return predict(self, table, jobs)

        monkeypatch.setattr(kind, "fit", fitting)
        monkeypatch.setattr(kind, "predict_column", predicting)

    kept: list = []
    for kind in (Tagger, Lemmatizer):
        spy(kind)
    structron.Pipeline(folds=3, jobs=jobs, without=["tokenizer", "splitter", "entities"]).fit(docs)
    forms = {word.form for doc in docs for word in doc.words}
    assert len(met) == 9  # three parts in three folds
    assert all(not found & saw[who] for who, found in met)
    assert set().union(*(found for _, found in met)) == forms
    assert all(saw[who] | found == forms for who, found in met)


def test_gold_data_are_left_as_they_are():
    docs = fresh_docs(12, 3)
    structron.Pipeline(folds=2).fit(docs, dev=docs[:3])
    assert docs == toy_docs(12, 3)


# -- what data lack ------------------------------------------------------------------------------------------------

LACKING = {
    "lemmas": ({"lemma": "_"}, "no LEMMA in the training data: not trained", {"lemmatizer"}),
    "xpos": ({"xpos": "_"}, "no XPOS in the training data: not trained", set()),
    "upos": ({"upos": "_"}, "no UPOS in the training data: not trained", set()),
    "feats": ({"feats": "_"}, "no FEATS in the training data: not trained", {"morphology"}),
    "heads": ({"head": None, "deprel": "_"}, "no heads in the training data: no parser", {"parser"}),
    "tags": ({"upos": "_", "xpos": "_"}, "no tags for the parser to read: no parser", {"tagger", "parser"}),
    "all": (
        {"upos": "_", "xpos": "_", "feats": "_", "lemma": "_", "head": None},
        "no heads in the training data: no parser",
        {"tagger", "morphology", "lemmatizer", "parser"},
    ),
    "one tag": (
        {"upos": "X", "xpos": "_"},
        "tagger: not trained: the training data have only one label",
        {"tagger", "parser"},
    ),
}


@pytest.mark.parametrize(("columns", "says", "absent"), LACKING.values(), ids=LACKING)
def test_what_data_lack_is_left_out_and_said(columns, says, absent, tmp_path):
    notes, docs = Notes(), changed(18, **columns)
    model = structron.Pipeline(folds=2, without=["entities"]).fit(docs, progress=notes)
    assert says in notes.texts
    assert says in model.notes_
    usual = {"tokenizer", "tagger", "morphology", "lemmatizer", "parser"}
    assert set(model.model_.trained) == usual - absent
    found = model(docs[0].text)
    written = {name for name in ("upos", "xpos", "lemma") if any(getattr(w, name) != "_" for w in found.words)}
    assert written == {"upos", "xpos", "lemma"} - columns.keys()
    model.save(tmp_path / "m")
    assert structron.load(tmp_path / "m")(docs[0].text) == found
    assert model.evaluate(docs).words > 90


def test_text_without_anything_but_spaces():
    docs = [
        Doc.from_conllu("".join(f"{k}\t{w}" + "\t_" * 8 + "\n" for k, w in enumerate(s.split(), 1)) + "\n")
        for s in ("the dog , it barks .", "a cat sleeps .") * 4
    ]
    notes = Notes()
    model = structron.Pipeline().fit(docs, progress=notes)
    assert "no SpaceAfter=No in the training data: tokens are assumed to be separated by spaces" in notes.texts
    assert [token.form for token in model("the cat , it sleeps .").tokens] == ["the", "cat", ",", "it", "sleeps", "."]
    assert list(model.model_.trained) == ["tokenizer"]


def test_one_sentence_is_enough():
    docs = [Doc(doc.text, doc.sentences[:1], doc.spaces_before) for doc in fresh_docs(3, 3)[:1]]
    docs[0].text = docs[0].sentences[0].text
    model = structron.Pipeline().fit(docs)
    assert model.evaluate(docs).las > 50


def test_dev_data_that_lack_something_judge_what_they_can():
    notes, dev = Notes(), changed(12, head=None, deprel="_", lemma="_")
    model = structron.Pipeline(folds=2, without=["entities"]).fit(toy_docs(18, 3), dev=dev, progress=notes)
    for name, judged in (("tagger", True), ("lemmatizer", False), ("parser", False)):
        (passes,) = (record["passes"] for record in model.history_ if record["part"] == name)
        assert all(("dev" in one) is judged for one in passes)
        assert (f"{name}: not in the dev data: the last pass is kept" in notes.texts) is not judged


def test_parts_that_are_not_wanted():
    model = structron.Pipeline(folds=2, without=["lemmatizer", "entities"]).fit(toy_docs(24, 3))
    assert "lemma" not in model.parts_["parser"].reads
    assert list(model.model_.trained) == ["tokenizer", "tagger", "morphology", "parser"]
    bare = structron.Pipeline(without=["tokenizer", *QUICK]).fit(toy_docs(24, 3))
    with pytest.raises(StructronError, match="this pipeline has no tokenizer; give it documents with tokens"):
        bare("A text.")
    assert bare.evaluate(toy_docs(24, 3), gold="tokens").upos > 90
    for without, says in (
        (["parser", "poet"], "unknown part 'poet'; expected one of: tokenizer"),
        ("parser", "without: 'parser'; expected a list of parts: tokenizer"),
        (list(parts.PARTS), "without: tokenizer, .*; expected at least one part"),
    ):
        with pytest.raises(StructronError, match=says):
            structron.Pipeline(without=without).fit(toy_docs(24, 3))


def test_many_tags_are_learned_with_the_features():
    contents = Contents.of(toy_docs(24, 3))
    few, many = (make_parts(replace(contents, tags=tags), ()) for tags in (MANY_TAGS, MANY_TAGS + 1))
    assert (few["tagger"].writes, few["morphology"].writes) == (("upos", "xpos"), ("feats",))
    assert (many["tagger"].writes, many["morphology"].writes) == (("upos",), ("upos", "xpos", "feats"))
    assert many["parser"].reads == ("form", "upos", "xpos", "feats", "lemma")


def test_small_weights_are_left_out_where_data_are_many():
    contents = Contents.of(toy_docs(24, 3))
    assert contents.words == sum(len(doc.words) for doc in toy_docs(24, 3))
    sizes = (300, parts.SMALL_TREEBANK)
    settings = [make_parts(replace(contents, words=n), ())["parser"].settings for n in sizes]
    assert [own["prune"] for own in settings] == [0.0, parts.PRUNE]


def test_many_tags_end_to_end(monkeypatch):
    monkeypatch.setattr(parts, "MANY_TAGS", 10)
    train = toy_docs(60, 3)
    model = structron.Pipeline(without=QUICK).fit(train)
    assert model.parts_["morphology"].writes == ("upos", "xpos", "feats")
    assert model.evaluate(TEST).xpos > 75
    known = {(word.upos, word.xpos, word.feats) for doc in train for word in doc.words}
    found = [(word.upos, word.xpos, word.feats) for doc in TEST for word in model(doc.text).words]
    assert len(found) > 100
    assert known.issuperset(found), "UPOS, XPOS and features agree"


def test_tokens_with_spaces_inside():
    """As in Vietnamese: a word may have several syllables."""
    sentences = [["xin chào", "các bạn", "."], ["tôi", "học", "tiếng Việt", "."], ["tiếng Việt", "hay", "."]] * 6
    docs = []
    for forms in sentences:
        text, spans = "", []
        for form in forms:
            text += " " if text and form != "." else ""
            spans.append((len(text), len(text) + len(form)))
            text += form
        docs.append(Doc.from_spans(text, [spans]))
    model = structron.Pipeline().fit(docs)
    assert model.model_.trained["tokenizer"].spaces_
    assert [token.form for token in model("tôi học tiếng Việt.").tokens] == ["tôi", "học", "tiếng Việt", "."]
    for broken in ("tiếng\nViệt hay.", "tiếng \r\nViệt hay."):
        found = model(broken)
        assert found.text == broken
        assert [token.form for token in found.tokens] == ["tiếng Việt", "hay", "."]
        assert Doc.from_conllu(found.to_conllu()).text == broken
    assert len(model("tiếng\n\nViệt hay.").tokens) == 4


# -- checkpoints, Ctrl-C and the log -------------------------------------------------------------------------------


def untrained() -> structron.Pipeline:
    return structron.Pipeline(folds=2, without=["entities"])


@pytest.fixture(scope="module")
def whole() -> structron.Pipeline:
    """A run that nobody stopped."""
    return untrained().fit(toy_docs(24, 3))


@pytest.mark.parametrize("at", [1, 2, 12, 0], ids=["first", "second", "later", "last"])
def test_a_run_that_was_stopped_anywhere_goes_on(at, whole, tmp_path):
    make, docs, log = untrained, toy_docs(24, 3), tmp_path / "log"
    at = at or sum(len(record["passes"]) for record in whole.history_)
    stopped = make().fit(docs, checkpoint=tmp_path / "c", progress=Interrupting(at, log=log))
    assert stopped.stopped_ == "interrupted"
    done = list(stopped.model_.trained)
    assert sorted(path.stem for path in (tmp_path / "c").glob("*.structron")) == sorted(["state", *done[:-1]])
    again = make().fit(docs, checkpoint=tmp_path / "c", resume=True, progress=Progress(log=log, append=True))
    assert bytes_of(again, tmp_path / "a") == bytes_of(whole, tmp_path / "b")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    every = [(one["part"], done["pass"]) for one in whole.history_ for done in one["passes"]]
    assert [(record["part"], record["pass"]) for record in records] == every
    assert make().fit(docs, checkpoint=tmp_path / "c", resume=True).history_ == timeless(again.history_)


def test_a_folder_of_another_run(tmp_path):
    make, docs = (lambda **given: structron.Pipeline(without=QUICK, **given)), toy_docs(24, 3)
    make().fit(docs, checkpoint=tmp_path)
    for estimator, data, dev in (
        (make(seed=2), docs, None),
        (make(), docs[1:], None),
        (make(), docs, docs),
        (structron.Pipeline(without=["parser"]), docs, None),
    ):
        with pytest.raises(StructronError, match=f"^{tmp_path}: the checkpoint .*other data"):
            estimator.fit(data, dev=dev, checkpoint=tmp_path, resume=True)
    with pytest.raises(StructronError, match="--checkpoint"):
        make().fit(docs, resume=True)
    with pytest.raises(StructronError, match="--resume"):
        make().fit(docs, checkpoint=tmp_path)
    (tmp_path / "tagger.structron").write_bytes(b"damage")
    with pytest.raises(StructronError, match=r"tagger\.structron: not a "):
        make().fit(docs, checkpoint=tmp_path, resume=True)


def test_ctrl_c_before_anything_is_learned(monkeypatch):
    def stop(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "data_for", stop)
    with pytest.raises(KeyboardInterrupt):
        structron.Pipeline().fit(toy_docs(24, 3))
    monkeypatch.undo()
    monkeypatch.setattr(pipeline, "jackknifed", stop)
    model = structron.Pipeline().fit(toy_docs(24, 3))
    assert (model.stopped_, list(model.model_.trained)[-1]) == ("interrupted", "tagger")
    assert model.evaluate(TEST).words > 80


# -- files ---------------------------------------------------------------------------------------------------------


def test_small_files(nlp, tmp_path):
    nlp.save(tmp_path / "large")
    small = structron.load(tmp_path / "large").set_params(compact=True)
    for name in ("a", "b"):
        small.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").stat().st_size < (tmp_path / "large").stat().st_size / 3
    again = structron.load(tmp_path / "a")
    assert again.history_ == []
    before, after = nlp.evaluate(TEST), again.evaluate(TEST)
    for name in ("tokens", "sentences", "upos", "lemmas", "las"):
        assert getattr(after, name) > getattr(before, name) - 4
    again.save(tmp_path / "c")
    assert structron.load(tmp_path / "c").predict([TEST[0].text]) == again.predict([TEST[0].text])


def test_small_files_spell_only_what_training_data_lack(nlp, tmp_path, monkeypatch):
    nlp.save(tmp_path / "large")
    structron.load(tmp_path / "large").set_params(compact=True).save(tmp_path / "small")
    small, asked = structron.load(tmp_path / "small"), []
    spell = Speller.__call__
    monkeypatch.setattr(Speller, "__call__", lambda own, rows: asked.extend(rows) or spell(own, rows))
    small.evaluate(TEST)
    known = {word.form for doc in TRAIN for word in doc.words}
    assert asked
    assert not {form for form, _ in asked} & known


@pytest.mark.parametrize(
    ("part", "column", "value"),
    [
        ("tagger", "reads", ["form", "head"]),
        ("tagger", "reads", []),
        ("tagger", "reads", "form"),
        ("tagger", "writes", ["upos", "xpos", "feats"]),
        ("tagger", "writes", ["form", "start"]),
        ("morphology", "reads", ["form", 7]),
        ("morphology", "writes", []),
        ("lemmatizer", "reads", ["form"]),
        ("lemmatizer", "model", None),
        ("tokenizer", "writes", ["upos"]),
    ],
)
def test_parts_that_do_not_fit_together(part, column, value, tmp_path):
    header, tensors = _contents(tmp_path / "m")
    header["learned"]["parts"][part][column] = value
    modelfile.save(tmp_path / "odd", header, tensors)
    with pytest.raises(StructronError, match="odd: damaged") as caught:
        structron.load(tmp_path / "odd")
    assert "\n" not in str(caught.value)


def _contents(path):
    fitted("pipeline").save(path)
    return modelfile.load(path)


def test_scores_are_those_of_the_shared_task(nlp):
    guess = nlp.predict([doc.text for doc in TEST])
    sentences = [[s for doc in docs for s in doc.sentences] for docs in (TEST, guess)]
    assert nlp.evaluate(TEST) == nlp.evaluate(TEST, guess=guess) == ud_scores(*sentences)
