"""Projects in and out: plain text, CoNLL columns, CoNLL-U, JSON lines (Prodigy, doccano), brat standoff."""

import glob
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

from structron.errors import StructronError, quoted, unknown
from structron.io.conll import read_conll
from structron.io.doc import Doc, docs_from_conllu
from structron.io.exports import FORMATS
from structron.io.text import open_output, read_lines, unpacked_name
from structron.io.tokenized import TokenizedSentence, doc_of
from structron.tasks.pipeline.annotate import words_of
from structron.tasks.pipeline.stream import blocks, move
from structron.tasks.registry import load
from structron.teach.project import DONE, NEW, Item, Project, is_project
from structron.teach.tasks import OUTSIDE, Known, Task, task_of

Text = tuple[Doc, list[Known | None]]
"""A document, and what is known of each of its sentences."""
OUTPUTS = ("conll", "conllu", "jsonl", "brat")
OPEN = "?"
"""An open label in columns."""
SENTENCES = 1_000
"""Sentences of a text of columns or lines."""
LONGEST_LABEL = 400
"""Characters of a label in a file: tags may list features."""


class Importer:
    """Makes documents of files; plain text is cut by a tokenizer, and tagged where the task needs tags."""

    def __init__(self, task: Task, tokenizer: str = "english"):
        self.task, self.name = task, tokenizer
        self.nlp: Any = None

    def texts(self, path: str) -> Iterator[Text]:
        """The documents of a file, by the end of its name."""
        name = unpacked_name(path).lower()
        kinds: dict[str, Callable[[str], Iterator[Text]]] = {
            ".conllu": self._conllu, ".conll": self._conll, ".iob": self._conll, ".bio": self._conll,
            ".jsonl": self._jsonl, ".ann": self._brat,
        }  # fmt: skip
        read = next((read for ending, read in kinds.items() if name.endswith(ending)), self._plain)
        yield from read(path)

    def tokenized(self, text: str) -> Doc:
        """A text cut into sentences and tokens."""
        doc = self._cut(text)
        self._tag(doc)
        return doc

    def _cut(self, text: str) -> Doc:
        self._load()
        tokenizer = self.nlp if self.nlp.task == "tokenizer" else self.nlp.part("tokenizer")
        return tokenizer.predict([text], jobs=1, lines=self.nlp.lines)[0]

    def _load(self) -> None:
        if self.nlp is None:
            self.nlp = load(self.name)

    def _tag(self, doc: Doc) -> None:
        """Fill in tags where the task reads them and there are none."""
        if not self.task.trees or all(word.upos != "_" for sentence in doc.sentences for word in sentence.words):
            return
        self._load()
        if self.nlp.task != "pipeline" or "tagger" not in self.nlp.names_:
            raise StructronError(
                f"{self.name}: trees need parts of speech; expected a pipeline with a tagger (--tokenizer)"
            )
        self.nlp.model_.tag(words_of(doc.sentences), 1)

    def _plain(self, path: str) -> Iterator[Text]:
        """Plain text, a long one in parts."""
        self._load()
        done = 0
        for doc in blocks(read_lines(path, plain=True), self.tokenized, self._cut, self.nlp.lines):
            move(doc, -done)
            done += len(doc.text)
            if doc.sentences:
                yield doc, [None] * len(doc.sentences)

    def _conllu(self, path: str) -> Iterator[Text]:
        for doc in docs_from_conllu(read_lines(path), path):
            known = [self.task.read(sentence) for sentence in doc.sentences]
            self._tag(doc)
            yield doc, known

    def _conll(self, path: str) -> Iterator[Text]:
        """The first column is the word and the last the label, `?` if it is open; one column alone is words."""
        some: list[tuple[TokenizedSentence, Known | None]] = []
        for sentence in read_conll(read_lines(path), path):
            labels = [None if row[-1] == OPEN else row[-1] for row in sentence.rows]
            known: Known | None = {"labels": _iob2(labels) if self.task.spans else labels}
            if len(sentence.rows[0]) == 1 or set(labels) == {None}:
                known = None
            elif self.task.trees:
                raise StructronError(f"{path}: trees cannot be read from columns; expected CoNLL-U (.conllu)")
            some.append(
                (TokenizedSentence([row[0] for row in sentence.rows], document=bool(sentence.new_document)), known)
            )
            if len(some) == SENTENCES:
                yield self._given(some)
                some = []
        if some:
            yield self._given(some)

    def _given(self, some: list[tuple[TokenizedSentence, Known | None]]) -> Text:
        doc = doc_of(given for given, _ in some)
        self._tag(doc)
        return doc, [known for _, known in some]

    def _jsonl(self, path: str) -> Iterator[Text]:
        """A line has `text`, and `spans` (Prodigy) or `label`, `labels` (doccano: start, end, label) if annotated."""
        for number, line in enumerate(read_lines(path), 1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                data = json.loads(line)
                text = data["text"]
                spans = data.get("spans", data.get("label", data.get("labels", data.get("entities"))))
                found = None if spans is None else [_span(own) for own in spans]
                tokens = [(int(t["start"]), int(t["end"])) for t in data.get("tokens") or ()]
            except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
                raise StructronError(
                    f"{where}: not a text with spans; expected JSON with text and, if annotated, spans"
                ) from None
            if not isinstance(text, str) or not text.strip():
                raise StructronError(f"{where}: no text")
            _check_text(text, tokens, where)
            skipped = data.get("answer") in ("reject", "ignore")
            doc = Doc.from_spans(text, [tokens]) if tokens else self.tokenized(text)
            yield doc, self._from_spans(doc, None if skipped else found, where)

    def _brat(self, path: str) -> Iterator[Text]:
        """Standoff annotation; the text is in the file of the same name that ends in .txt."""
        source = Path(path).with_suffix(".txt")
        text = "".join(read_lines(str(source)))
        spans = []
        for number, line in enumerate(read_lines(path), 1):
            if not line.startswith("T"):
                continue
            try:
                _, what, _ = line.rstrip("\n").split("\t", 2)
                label, places = what.split(" ", 1)
                pieces = [tuple(map(int, piece.split())) for piece in places.split(";")]
                spans.append((pieces[0][0], pieces[-1][1], label))
            except (ValueError, IndexError):
                raise StructronError(
                    f"{path}:{number}: {quoted(line.strip())}; expected T1, label, start and end, text"
                ) from None
        doc = self.tokenized(text)
        yield doc, self._from_spans(doc, spans, path)

    def _from_spans(self, doc: Doc, spans: list[tuple[int, int, str]] | None, where: str) -> list[Known | None]:
        """What spans of the text say of its sentences; a span has to begin and end with a word."""
        if spans is None:
            return [None] * len(doc.sentences)
        if not self.task.spans:
            raise StructronError(
                f"{where}: spans of text; expected CoNLL, CoNLL-U or plain text for a {self.task.name}"
            )
        known: list[Known | None] = []
        left = sorted(spans)
        for sentence in doc.sentences:
            words, labels = sentence.words, [OUTSIDE] * len(sentence.words)
            while left and left[0][0] < sentence.end:
                lo, hi, label = left.pop(0)
                inside = [k for k, word in enumerate(words) if word.start < hi and word.end > lo]
                if (
                    not inside
                    or words[inside[0]].start != lo
                    or words[inside[-1]].end != hi
                    or labels[inside[0]] != OUTSIDE
                ):
                    raise StructronError(
                        f"{where}: {label} from {lo} to {hi} ({quoted(doc.text[lo:hi])}); "
                        "expected whole words within one sentence, and no overlap with another span"
                    )
                for k in inside:
                    labels[k] = ("B-" if k == inside[0] else "I-") + label
            known.append({"labels": labels})
        if left:
            lo, hi, label = left[0]
            raise StructronError(f"{where}: {label} from {lo} to {hi}; expected positions within the text")
        return known


def _check_text(text: str, tokens: Sequence[tuple[int, int]], where: str) -> None:
    """Refuse what no file can keep, and tokens that are not in a text one after the other."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise StructronError(f"{where}: an incomplete surrogate pair; expected valid Unicode") from None
    end = 0
    for lo, hi in tokens:
        if not end <= lo < hi <= len(text) or text[lo:hi] != text[lo:hi].strip():
            raise StructronError(f"{where}: a token from {lo} to {hi}; expected words of the text, one after the other")
        end = hi


def _span(own: Any) -> tuple[int, int, str]:
    if isinstance(own, dict):
        start, end = (own[name] if name in own else own[f"{name}_offset"] for name in ("start", "end"))
        return int(start), int(end), str(own["label"])
    start, end, label = own
    return int(start), int(end), str(label)


def _iob2(labels: list[str | None]) -> list[str | None]:
    """Labels of any scheme in IOB2; single marks of BILOU and IOBES become B- and I-."""
    first = {"B": "B-", "U": "B-", "S": "B-", "I": "I-", "L": "I-", "E": "I-"}
    found: list[str | None] = []
    for label in labels:
        kind = label[2:] if label and label[1:2] in "-_" and label[0] in first else label
        if label is None or label == OUTSIDE or kind == label:
            found.append(label)
            continue
        goes_on = first[label[0]] == "I-" and found and (found[-1] is None or found[-1][2:] == kind)
        found.append(("I-" if goes_on else "B-") + str(kind))
    return found


def matching(patterns: Sequence[str]) -> list[str]:
    """The files that patterns stand for; one that nothing matches is a name."""
    return [path for pattern in patterns for path in (sorted(glob.glob(pattern)) or [pattern])]


def add_files(project: Project, patterns: Sequence[str], tokenizer: str) -> tuple[int, int, int]:
    """Add files to a project, each whole or not at all; returns the number of sentences, of those of which something is
    known, and of those of which everything is."""
    task = task_of(project)
    importer = Importer(task, tokenizer)
    found = (0, 0, 0)
    for path in matching(patterns):
        texts = _named(importer.texts(path), os.path.basename(path))
        sentences, known, whole = project.add_all(texts, partial(_labels_in, task, path))
        found = found[0] + sentences, found[1] + known, found[2] + whole
    if not found[0]:
        raise StructronError(f"{', '.join(patterns)}: no sentences; expected some text")
    return found


def _labels_in(task: Task, path: str, known: Known) -> list[str]:
    """The labels of a sentence of a file, which have to be such as a project can have."""
    for label in known["labels"] if task.spans else ():
        if label not in (None, OUTSIDE) and not (label[:2] in ("B-", "I-") and label[2:]):
            raise StructronError(f"{path}: label {quoted(label)}; expected O, or B- or I- and a name")
    return [task.check_label(label, f"{path}: label", LONGEST_LABEL) for label in task.labels_in(known)]


def _named(texts: Iterator[Text], name: str) -> Iterator[tuple[str, Doc, list[Known | None]]]:
    """The texts of a file with their names: that of the file, with a number if there are several."""
    first, second = next(texts, None), next(texts, None)
    if first is not None and second is None:
        yield name, *first
        return
    for number, text in enumerate(chain((own for own in (first, second) if own is not None), texts), 1):
        yield f"{name}:{number}", *text


def format_of(path: str | Path, format: str | None = None) -> str:
    """The format asked for, or the one that the name of a file tells."""
    if format is None:
        name = unpacked_name(str(path)).lower()
        ending = name.rpartition(".")[2] if "." in os.path.basename(name) else "brat"
        format = {"ann": "brat", "bio": "conll", "iob": "conll"}.get(ending, ending)
    if format not in OUTPUTS:
        raise unknown("format", format, OUTPUTS)
    return format


def documents(project: Project, complete: bool = True, in_part: bool = False) -> Iterator[tuple[str, Doc]]:
    """Texts with what is known of them. complete: whole texts; or only the sentences that are answered. in_part: those
    too of which a file says something; a format has to have a mark for what is open."""
    task = task_of(project)
    for name, doc, items in project.documents():
        kept = []
        for sentence, item in zip(doc.sentences, items, strict=True):
            if item.known is not None and _is_told(item, in_part):
                task.write(sentence, item.known)
                kept.append(sentence)
            else:
                empty = task.empty(item)
                task.write(sentence, empty)
        if complete:
            yield name, doc
        elif kept:
            yield name, Doc(doc.text, kept, doc.spaces_before)


def _is_told(item: Item, in_part: bool) -> bool:
    """Whether somebody has answered a sentence. in_part: or a file says something of it."""
    return item.done == DONE or (in_part and item.done == NEW and item.known is not None)


def export(project: Project, format: str, complete: bool = False) -> str:
    """What is known, in a format that other programs read. complete: sentences that are not answered as well."""
    out = StringIO()
    if format == "conll":
        _write_columns(project, out, complete)
    elif format == "brat":
        FORMATS[format].write((doc for _, doc in documents(project, True)), out, project.path.name)
    else:
        told = documents(project, complete, in_part=format == "conllu")
        FORMATS[format].write((doc for _, doc in told), out, project.path.name)
    return out.getvalue()


def _write_columns(project: Project, out: StringIO, complete: bool) -> None:
    """The word and its label, `?` where it is open."""
    task = task_of(project)
    if task.trees:
        raise StructronError("trees cannot be written as columns; expected the format conllu")
    for _, doc, items in project.documents():
        for sentence, item in zip(doc.sentences, items, strict=True):
            known = item.known if _is_told(item, in_part=True) else None
            if known is None and not complete:
                continue
            labels = known["labels"] if known else [None] * len(sentence.words)
            out.writelines(
                f"{word.form}\t{OPEN if label is None else label}\n"
                for word, label in zip(sentence.words, labels, strict=True)
            )
            out.write("\n")


def write_file(project: Project, path: str, format: str | None, complete: bool) -> None:
    """Write what is known to a file; brat takes a folder, with the text of each document beside its annotation."""
    format = format_of(path, format)
    if format != "brat":
        if is_project(path):
            raise StructronError(f"{path}: is a project; expected another file name")
        text = export(project, format, complete)
        with open_output(path) as out:
            out.write(text)
        return
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    for name, doc in documents(project):
        file, number = re.fullmatch(r"(.*?)(:\d+)?", name, re.DOTALL).groups("")  # type: ignore[union-attr]
        stem = folder / f"{Path(file).stem}{number}".replace(":", "-")
        source, found = stem.with_name(f"{stem.name}.txt"), StringIO()
        if source.exists() and source.read_text(encoding="utf-8") != doc.text:
            raise StructronError(f"{source}: a different text; expected a new folder, or one with this project's texts")
        FORMATS["brat"].write(iter([doc]), found, "")
        for place, content in ((source, doc.text), (stem.with_name(f"{stem.name}.ann"), found.getvalue())):
            with open_output(place) as out:
                out.write(content)
