"""`structron lexicon`: dictionaries of other programs as lexicons, as `train --lexicon` reads them.

udpipe     form⇥lemma⇥UPOS⇥XPOS⇥FEATS: our own format
unimorph   lemma⇥form⇥N;ACC;PL: the first feature gives UPOS; all of them together stand as XPOS
spacy      JSON, told by what is in it: {form: lemma}; {pos: {form: [lemmas]}}; and {pos: [lemmas]}, of which
           {pos: [[ending, ending of the lemma]]} makes forms. A name such as it_lemma_lookup_noun.json gives UPOS
conllu     the words of a treebank
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from structron.cli.places import check_output, check_places, check_text_place
from structron.errors import StructronError, quoted, unknown
from structron.features.wordforms import EMPTY, LONGEST_LINE, read_rows
from structron.io import open_output, read
from structron.io.text import is_standard, read_lines, unpacked_name
from structron.runtime.progress import say

Row = tuple[str, ...]
FORMATS = ("udpipe", "unimorph", "spacy", "conllu")
SAME = ("ADJ", "ADP", "ADV", "AUX", "DET", "INTJ", "NUM", "PART", "PROPN")
UNIMORPH = {
    "N": "NOUN",
    "V": "VERB",
    "PRO": "PRON",
    "ART": "DET",
    "CONJ": "CCONJ",
    "CLF": "PART",
    "COMP": "SCONJ",
    **{name: name for name in SAME},
}
"""UPOS of what UniMorph's features begin with; forms of verbs, such as V.PTCP, are verbs."""
POS = {name.lower() for name in (*SAME, "CCONJ", "CONJ", "NOUN", "PRON", "PUNCT", "SCONJ", "SYM", "VERB", "X")}
"""What spaCy's tables call parts of speech."""
NAMED = re.compile(r"_lookup_([a-z]+)(\.json)?$")
TABLE = "expected spaCy's tables of lemmas"


def run(files: Sequence[str], format: str | None = None, encoding: str = "utf-8", output: Path | None = None) -> None:
    """Write a line for each entry: form, lemma, UPOS and, where the files have them, XPOS and FEATS."""
    if format is not None and format not in FORMATS:
        raise unknown("--format", format, FORMATS)
    check_places({"FILE": files}, {"--output": output})
    check_text_place("--output", output)
    check_output(output)
    rows = dict.fromkeys(converted(files, format, encoding))
    if not rows:
        raise StructronError(f"{files[0]}: no entries; expected at least one")
    with open_output(output) as out:
        out.writelines("\t".join(row) + "\n" for row in rows)
    say(f"{len(rows):,} entries, {len({row[0] for row in rows}):,} forms")


def converted(files: Sequence[str], format: str | None, encoding: str) -> Iterator[Row]:
    """The entries of files, one after the other. spaCy's endings make forms of the lemmas of all files."""
    lemmas: dict[str, dict[str, None]] = {}
    endings: dict[str, list[tuple[str, str]]] = {}
    for path in files:
        kind = format or _format_of(path, encoding)
        if kind == "spacy":
            yield from _of_spacy(path, encoding, lemmas, endings)
        elif kind == "conllu":
            yield from _of_conllu(path, encoding)
        elif kind == "unimorph":
            yield from _of_unimorph(path, encoding)
        else:
            yield from map(tuple, read_rows(path, encoding))
    if endings.keys() - lemmas.keys() and not lemmas:
        raise StructronError(f"{files[0]}: only rules; expected the index of lemmas that they are for, too")
    for pos, own in lemmas.items():
        for lemma in own:
            yield lemma, lemma, pos
            for ending, of_lemma in endings.get(pos, ()):
                if lemma.endswith(of_lemma) and (form := lemma[: len(lemma) - len(of_lemma)] + ending):
                    yield form, lemma, pos


def _format_of(path: str, encoding: str) -> str:
    """The format of a file, by its first line."""
    if is_standard(path):
        raise StructronError(f"{path}: the format of a stream is not determined by its contents; expected --format")
    lines = read_lines(path, encoding, plain=True)
    line = next((text for line in lines if (text := line.removeprefix("\ufeff").rstrip("\r\n"))), "")
    lines.close()
    row = line.split("\t")
    if line.lstrip().startswith("{"):
        return "spacy"
    if len(row) == 10 or (len(row) == 1 and line.startswith("#")):
        return "conllu"
    return "unimorph" if len(row) == 3 and ";" in row[2] else "udpipe"


def _of_conllu(path: str, encoding: str) -> Iterator[Row]:
    for sentence in read(path, "conllu", encoding):
        for _, form, lemma, upos, xpos, feats, *_ in sentence.rows:
            yield form, lemma, upos, xpos, feats


def _of_unimorph(path: str, encoding: str) -> Iterator[Row]:
    expected = "expected a lemma, a form and features such as N;ACC;PL, between tabs"
    for number, line in enumerate(read_lines(path, encoding, plain=True), 1):
        line = (line.removeprefix("\ufeff") if number == 1 else line).rstrip("\r\n")
        if not line.strip():
            continue
        row = line.split("\t")
        if not 3 <= len(row) <= 4 or not all(row[:3]) or len(line) > LONGEST_LINE:
            raise StructronError(f"{path}:{number}: {quoted(line)}; {expected}")
        lemma, form, features = row[:3]
        yield form, lemma, UNIMORPH.get(re.split("[;.]", features)[0], EMPTY), features


def _of_spacy(
    path: str, encoding: str, lemmas: dict[str, dict[str, None]], endings: dict[str, list[tuple[str, str]]]
) -> Iterator[Row]:
    """The entries of a table; lemmas and endings that forms are made of are added to those of other tables."""
    try:
        table = json.loads("".join(chain(read_lines(path, encoding, plain=True))).removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise StructronError(f"{path}: not JSON ({error}); {TABLE}") from None
    if not isinstance(table, dict) or not table:
        raise StructronError(f"{path}: {quoted(table)}; {TABLE}")
    by_pos = {key.partition("_")[0] for key in table} <= POS
    first = next(iter(table.values()))
    if by_pos and isinstance(first, Mapping):
        for pos, forms in table.items():
            yield from _looked_up(path, _checked(path, forms, Mapping), pos.upper())
    elif by_pos and isinstance(first, list) and all(isinstance(own, list) for own in first):
        for pos, pairs in table.items():
            for pair in _checked(path, pairs, list):
                if not isinstance(pair, list) or [*map(type, pair)] != [str, str]:
                    raise StructronError(f"{path}: {quoted(pos)}: {quoted(pair)}; expected two endings")
                endings.setdefault(pos.partition("_")[0].upper(), []).append((_word(path, pair[0]), pair[1]))
    elif by_pos and isinstance(first, list):
        for pos, own in table.items():
            lemmas.setdefault(pos.upper(), {}).update((_word(path, lemma), None) for lemma in _checked(path, own, list))
    else:
        named = NAMED.search(unpacked_name(Path(path).name))
        upos = named[1].upper() if named and named[1] in POS else EMPTY
        yield from _looked_up(path, table, upos)


def _looked_up(path: str, table: Mapping[str, Any], upos: str) -> Iterator[Row]:
    """The entries of a table of forms; lemmas that it does not list are forms of themselves."""
    unlisted: dict[str, None] = {}
    for form, own in table.items():
        for lemma in own if isinstance(own, list) else [own]:
            if _word(path, form) and _word(path, lemma):
                yield form, lemma, upos
                if lemma not in table:
                    unlisted[lemma] = None
    yield from ((lemma, lemma, upos) for lemma in unlisted)


def _checked(path: str, own: Any, kind: type) -> Any:
    if not isinstance(own, kind):
        raise StructronError(f"{path}: {quoted(own)}; {TABLE}")
    return own


def _word(path: str, text: Any) -> str:
    """A text that fits into a line."""
    if not isinstance(text, str) or {"\t", "\n", "\r"} & {*text} or len(text) > LONGEST_LINE // 4:
        raise StructronError(f"{path}: {quoted(text)}; expected a word")
    return text
