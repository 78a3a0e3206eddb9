"""The first thing that `structron demo` shows: what the bundled model makes of a text."""

import time

from rich.console import Console

from structron.cli.pictures import show_tree
from structron.errors import StructronError
from structron.io.doc import Doc
from structron.tasks.registry import bundled, load

MODEL = "english"
PARAGRAPH = (
    "Dr. Smith didn't sleep on the plane to Paris. She works for a bank in London, writes long reports, and hates "
    "airports."
)


def show_text(console: Console, text: str = PARAGRAPH) -> None:
    """Analyse a text with the bundled model, and show words, trees and entities."""
    if not text.strip():
        raise StructronError("--text: empty; expected a sentence or more")
    if MODEL not in bundled():
        raise StructronError(f"the model {MODEL!r} is missing from this installation; reinstall the package")
    begin = time.perf_counter()
    nlp = load(MODEL)
    loaded = time.perf_counter()
    nlp("Warm up.")
    ready = time.perf_counter()
    doc = nlp(text)
    done = time.perf_counter()
    console.print(f"[bold]{MODEL}[/bold]: the bundled model, from text to trees")
    _show(console, doc)
    took = f"loaded in {loaded - begin:.1f} s; {len(doc.words)} words in {1000 * (done - ready):.0f} ms"
    console.print(f"{took}; to run it yourself:", style="dim")
    console.print('   structron annotate --text "…"', style="cyan", markup=False)
    console.print("   structron annotate report.txt --format html --output report.html", style="cyan", markup=False)
    console.print()


def _show(console: Console, doc: Doc) -> None:
    """Each sentence as a tree of words with lemma and tag, then the entities."""
    for sentence in doc.sentences:
        words = sentence.words
        arcs = [(word.head or 0, word.deprel) for word in words]
        named = [f"{word.form} ({word.lemma}, {word.upos})" for word in words]
        console.print("  ", " ".join(sentence.text.split()), markup=False, end="")
        console.print(show_tree(named, arcs, arcs))
    if doc.entities:
        names = ", ".join(f"{' '.join(entity.text.split())} ({entity.label})" for entity in doc.entities)
        console.print(f"   entities: {names}", markup=False)
