"""Sentences as other libraries hold them, as our rows: of spaCy, NLTK, pandas and Hugging Face; or of a file just read.

Nothing is imported for it: objects are told by what they have. What is ours already is given back untouched.

    io.read(path)            sentences of a file
    spaCy Doc                a row a token: text, tags, entities as B-X, I-X, O, heads and relations
    NLTK                     tagged sentences are rows already; chunk trees become word, tag, B-X …
    pandas DataFrame         one row a token; a column says which sentence it is in
    datasets.Dataset, rows   tokens, pos_tags, chunk_tags, ner_tags …, numbers named by their ClassLabel
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

from structron.errors import StructronError
from structron.text.sentences import Document

SENTENCE_COLUMNS = ("sentence", "sentence_id", "sent_id", "sentence #", "sentence_idx", "sent")
WORDS = ("tokens", "words", "word", "form", "text")
MEANINGS: Mapping[str, tuple[str, ...]] = {
    "pos": ("pos", "pos_tags", "upos", "upos_tags", "xpos", "tag"),
    "upos": ("upos", "upos_tags", "pos_tags", "pos"),
    "xpos": ("xpos", "xpos_tags", "tag", "pos_tags"),
    "chunk": ("chunk", "chunk_tags", "chunks", "ner_tags", "ner", "tags", "labels"),
    "entity": ("entity", "ner_tags", "ner", "ner_tag", "entities", "tags", "labels", "tag"),
}
"""What a column may be called elsewhere, by what it is called here."""
SPACY: Mapping[str, Callable[[Any, Mapping[int, int]], str]] = {
    "id": lambda token, place: str(place[token.i]),
    "word": lambda token, place: token.text,
    "form": lambda token, place: token.text,
    "lemma": lambda token, place: token.lemma_ or "_",
    "pos": lambda token, place: token.pos_ or token.tag_ or "_",
    "upos": lambda token, place: token.pos_ or "_",
    "xpos": lambda token, place: token.tag_ or "_",
    "tag": lambda token, place: token.tag_ or "_",
    "feats": lambda token, place: str(token.morph) or "_",
    "entity": lambda token, place: f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O",
    "ner": lambda token, place: f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O",
    "head": lambda token, place: "0" if token.head.i == token.i else str(place.get(token.head.i, 0)),
    "deprel": lambda token, place: token.dep_ or "_",
    "deps": lambda token, place: "_",
    "misc": lambda token, place: "_",
}


def as_rows(
    sentences: Any, columns: Sequence[str], what: str = "data", labelled: bool = False, wide: bool = False
) -> Any:
    """Sentences of whatever kind as lists of rows with these columns; those that are ours come back as they are.

    labelled: the last column has to be there. wide: more than words are needed. In both cases tokens have to be rows,
    so that one sentence alone can be told from a list of them.
    """
    if isinstance(sentences, Mapping):
        sentences = _batch(sentences, what)
    if isinstance(sentences, str | bytes) or not hasattr(sentences, "__iter__"):
        raise StructronError(f"{what}: {_short(sentences)}; expected a list of sentences")
    if hasattr(sentences, "iterrows") and hasattr(sentences, "columns"):
        return _frame(sentences, columns, what)
    if hasattr(sentences, "ents") and hasattr(sentences, "vocab"):
        return _doc(sentences, columns, labelled)
    names = _class_names(getattr(sentences, "features", None))
    first, again = _peek(sentences)
    if first is None or isinstance(first, Document):
        return again
    if isinstance(first, str) and isinstance(sentences, Sequence):
        raise StructronError(
            f"{what}: sentence 1 is {_short(first)}; expected a list of sentences, each a list of tokens"
        )
    if isinstance(first, Mapping):
        places = ((f"{what}: sentence {s}", row) for s, row in enumerate(again, 1))
        return [_lists(row, columns, names, where, labelled) for where, row in places]
    if hasattr(first, "rows") and hasattr(first, "token_lines"):
        return (sentence.rows for sentence in again)
    if hasattr(first, "ents") and hasattr(first, "vocab"):
        return [rows for doc in again for rows in _doc(doc, columns, labelled)]
    if hasattr(first, "label") and hasattr(first, "leaves"):
        return [_tree(tree) for tree in again]
    if (labelled or wide) and isinstance(first, tuple | list) and first and all(isinstance(w, str) for w in first):
        missing, ending = ("labels", " with their labels") if labelled else ("their other columns", "")
        raise StructronError(
            f"{what}: sentence 1 is {_short(first)}: words without {missing}, or one token; "
            f"expected a list of sentences, each a list of rows{ending}"
        )
    return again


def _peek(sentences: Iterable[Any]) -> tuple[Any, Any]:
    """The first sentence, None if there is none, and all of them."""
    if isinstance(sentences, list | tuple):
        return (sentences[0] if len(sentences) else None), sentences
    stream = iter(sentences)
    first = next(stream, None)
    return first, (chain([first], stream) if first is not None else [])


def _doc(doc: Any, columns: Sequence[str], labelled: bool) -> list[list[list[str]]]:
    """The sentences of a spaCy document; all of it is one where no sentences are marked."""
    parts = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    if not labelled and columns[-1] not in SPACY:
        columns = columns[:-1]
    makers = [_maker(name) for name in columns]
    sentences = []
    for part in parts:
        tokens = [token for token in part if not token.is_space]
        place = {token.i: number for number, token in enumerate(tokens, 1)}
        sentences.append([[make(token, place) for make in makers] for token in tokens])
    return sentences


def _maker(name: str) -> Callable[[Any, Mapping[int, int]], str]:
    """What a column takes from spaCy's tokens."""
    if name not in SPACY:
        raise StructronError(f"spaCy's tokens have no {name!r}; expected columns among {', '.join(SPACY)}")
    return SPACY[name]


def _tree(tree: Any) -> list[list[str]]:
    """A chunked sentence of NLTK: words and tags, with chunks as subtrees."""
    rows: list[list[str]] = []
    for part in tree:
        if hasattr(part, "label"):
            inside = [[*leaf] for leaf in part.leaves()]
            rows += [[*leaf, f"{'I' if k else 'B'}-{part.label()}"] for k, leaf in enumerate(inside)]
        else:
            rows.append([*part, "O"])
    return rows


def _frame(frame: Any, columns: Sequence[str], what: str) -> Iterator[list[list[str]]]:
    """The sentences of a data frame with a row a token."""
    named = {str(name).lower(): name for name in frame.columns}
    key = next((named[name] for name in SENTENCE_COLUMNS if name in named), None)
    if key is None:
        found = ", ".join(map(str, frame.columns))
        raise StructronError(f"{what}: a frame with columns {found}; expected one named sentence (or sent_id)")
    wanted = [named[name] for name in columns if name in named]
    others = [name for name in frame.columns if name != key]
    chosen = wanted if columns and len(wanted) == len(columns) else others
    texts = [frame[name].astype(str).tolist() for name in chosen]
    ids = frame[key].ffill().tolist()
    rows = zip(ids, *texts, strict=True)
    return ([list(row[1:]) for row in group] for _, group in groupby(rows, key=lambda row: row[0]))


def _class_names(features: Any) -> dict[str, Sequence[str]]:
    """The names of the numbers of each column of a `datasets.Dataset`."""
    found: dict[str, Sequence[str]] = {}
    for name, feature in features.items() if isinstance(features, Mapping) else ():
        inner = getattr(feature, "feature", feature)
        if known := getattr(inner, "names", None):
            found[name] = known
    return found


def _batch(given: Mapping[str, Any], what: str) -> list[dict[str, Any]]:
    """Some rows of a data set as it slices them: a list for each of its columns."""
    words = next((given[key] for key in WORDS if key in given), None)
    if words is None and given and all(hasattr(part, "features") for part in given.values()):
        raise StructronError(
            f"{what}: parts {', '.join(map(str, given))}; expected one of them: data[{next(iter(given))!r}]"
        )
    if not isinstance(words, Sequence) or isinstance(words, str) or (len(words) and isinstance(words[0], str)):
        raise StructronError(f"{what}: {_short(given)}; expected a list of sentences")
    return [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]


def _lists(
    row: Any, columns: Sequence[str], names: Mapping[str, Sequence[str]], where: str, labelled: bool
) -> list[list[str]]:
    """A row of a data set: lists of tokens and of tags; what it does not have is left out.

    Unless it has to be `labelled`, numbers that nothing names are left out, too: a row by itself does not name them.
    """
    words = next((key for key in WORDS if isinstance(row, Mapping) and isinstance(row.get(key), Sequence)), None)
    if words is None or isinstance(row[words], str):
        found = ", ".join(map(str, row)) if isinstance(row, Mapping) else _short(row)
        raise StructronError(f"{where} has {found}; expected tokens, a list of words")
    lists = [list(map(str, row[words]))]
    for column in columns[1:]:
        key = next((key for key in (column, *MEANINGS.get(column, ())) if key in row), None)
        nameless = key is not None and key not in names and not all(isinstance(value, str) for value in row[key])
        if key is not None and (labelled or not nameless):
            lists.append([_name(value, names.get(key), f"{where}: {key}") for value in row[key]])
    if len({len(own) for own in lists}) > 1:
        raise StructronError(
            f"{where}: {len(lists[0])} tokens, {min(map(len, lists[1:]))} tags; expected equal numbers"
        )
    return [list(token) for token in zip(*lists, strict=True)]


def _name(value: Any, names: Sequence[str] | None, where: str) -> str:
    """A tag, which may be a number that the data set names."""
    if isinstance(value, str):
        return value
    if names is None:
        raise StructronError(
            f"{where}: number {value} has no name; expected strings, or the Dataset with its ClassLabel"
        )
    return str(names[int(value)])


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
