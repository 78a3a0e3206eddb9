"""UDPipe's REST protocol: `process` and `models`, as its clients ask for them.

    data        the text, or CoNLL-U
    tokenizer   make tokens of plain text; options: ranges, presegmented
    tagger      fill tags, features, lemmas
    parser      fill heads and relations
    input       without a tokenizer: conllu (by default), horizontal, vertical, generic_tokenizer
    output      conllu (by default), horizontal, vertical, plaintext

A tagger or parser that is given with "none", or not given, leaves its columns as they are.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from structron._version import __version__
from structron.errors import StructronError
from structron.io.doc import Doc
from structron.io.tokenized import TokenizedSentence, doc_of
from structron.serve.analyse import annotate_docs, check_text, tokenized
from structron.serve.library import Library, Shelved
from structron.tasks.pipeline.annotate import words_of

INPUTS = ("conllu", "horizontal", "vertical", "generic_tokenizer")
OUTPUTS = ("conllu", "horizontal", "vertical", "plaintext")
TOKENIZER = ("ranges", "presegmented", "normalized_spaces")
ACKNOWLEDGEMENTS = {"english": "https://creativecommons.org/licenses/by-sa/4.0/"}
"""What a model asks to be said of it: the bundled one its licence."""
CODES = {"en": "english", "eng": "english"}
"""Languages of bundled models as clients of public servers name them."""


def models(library: Library) -> dict[str, Any]:
    """The pipelines and what they can do, the default one by name."""
    found = {name: _abilities(model) for name, model in _served(library).items()}
    return {"models": found, "default_model": next(iter(found), None)}


def _served(library: Library) -> dict[str, Shelved]:
    return {name: model for name, model in library.models.items() if model.estimator.texts}


def _abilities(model: Shelved) -> list[str]:
    return [name for name in ("tokenizer", "tagger", "parser") if name in model.parts]


def process(library: Library, given: Mapping[str, str]) -> dict[str, Any]:
    """The answer to a request with these parameters."""
    if "data" not in given:
        raise StructronError("Required argument 'data' is missing.")
    data, model = given["data"], _find(library, given.get("model", ""))
    check_text(data)
    wanted = {part: given.get(part, "none") != "none" for part in ("tagger", "parser")}
    for part in (name for name, asked in wanted.items() if asked):
        if part not in model.parts:
            raise StructronError(f"The required model does not contain a {part}!")
    output = given.get("output", "") or "conllu"
    if output not in OUTPUTS:
        raise StructronError(f"Unknown output format '{output}'; expected one of: {', '.join(OUTPUTS)}.")
    doc = _read(model, data, given)
    _fill(model, doc, **wanted)
    if "ranges" in given.get("tokenizer", "").split(";"):
        for token in doc.tokens:
            own = token if token.is_multiword else token.words[0]
            place = f"TokenRange={token.start}:{token.end}"
            own.misc = place if own.misc == "_" else f"{own.misc}|{place}"
    credit = ACKNOWLEDGEMENTS.get(model.name)
    return {
        "model": model.name,
        "acknowledgements": [credit] if credit else [],
        "result": _written(doc, output, model.name),
    }


def _find(library: Library, wanted: str) -> Shelved:
    """A model by its name, by what stands before a hyphen in its name, or by a longer name that begins with its own."""
    served = _served(library)
    if not served:
        raise StructronError("No model can parse plain text; expected a server that was started with a pipeline.")
    name = CODES.get(wanted, wanted)
    if not name:
        return next(iter(served.values()))
    for known, model in served.items():
        if name == known or known.startswith(f"{name}-"):
            return model
    for known, model in served.items():
        if name.startswith(f"{known}-"):
            return model
    raise StructronError(f"Requested model '{wanted}' does not exist; expected one of: {', '.join(served)}.")


def _read(model: Shelved, data: str, given: Mapping[str, str]) -> Doc:
    """The document that the data are, or that the tokenizer makes of them."""
    options = [option for option in given.get("tokenizer", "").split(";") if option]
    for option in options:
        if option.partition("=")[0] not in TOKENIZER:
            raise StructronError(f"Unknown tokenizer option '{option}'; expected one of: {', '.join(TOKENIZER)}.")
    format = given.get("input", "") or "conllu"
    if format not in INPUTS:
        raise StructronError(f"Unknown input format '{format}'; expected one of: {', '.join(INPUTS)}.")
    if "tokenizer" in given or format == "generic_tokenizer":
        if "presegmented" in options:
            return _presegmented(model, data)
        return tokenized(model, [data])[0]
    if format == "conllu":
        return Doc.from_conllu(data, "Cannot read input data")
    lines = [line.split() for line in data.splitlines()]
    if format == "vertical":
        lines = [block.split() for block in data.replace("\r\n", "\n").split("\n\n")]
    return doc_of(TokenizedSentence(words) for words in lines)


def _presegmented(model: Shelved, data: str) -> Doc:
    """Every line is a sentence: what the tokenizer takes to be several is one."""
    lines = data.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    found = zip(starts[: len(lines)], tokenized(model, lines), strict=True)
    return Doc.from_spans(
        data, [[(start + token.start, start + token.end) for token in doc.tokens] for start, doc in found]
    )


def _fill(model: Shelved, doc: Doc, tagger: bool, parser: bool) -> None:
    """Let the parts that were asked for fill a document; the others leave it as it is."""
    annotator, sentences = (model.estimator.model_, doc.sentences) if model.estimator.task == "pipeline" else (None, [])
    if annotator is None:
        return
    fresh = all(not token.is_multiword for token in doc.tokens) and all(word.upos == "_" for word in doc.words)
    if fresh:
        annotator.split(sentences, 1)
    if tagger and parser:
        annotate_docs(model, [doc], "tokens")
        return
    if tagger:
        annotator.tag(words_of(sentences), 1)
    if parser:
        annotate_docs(model, [doc], "tags")


MADE_BY = ("# generator =", "# udpipe_model =", "# udpipe_model_licence =")
"""Comments that say what has made a file; those of a file that is read are no longer true."""


def _written(doc: Doc, output: str, model: str) -> str:
    if output == "conllu":
        for number, sentence in enumerate(doc.sentences, 1):
            sentence.comments = [comment for comment in sentence.comments if not comment.startswith(MADE_BY)]
            if not any(comment.startswith("# sent_id") for comment in sentence.comments):
                sentence.comments.append(f"# sent_id = {number}")
        return f"# generator = structron {__version__}\n# udpipe_model = {model}\n{doc.to_conllu()}"
    if output == "plaintext":
        return doc.text
    between, end = (" ", "\n") if output == "horizontal" else ("\n", "\n\n")
    return "".join(between.join(word.form for word in sentence.words) + end for sentence in doc.sentences)
