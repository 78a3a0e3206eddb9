"""`structron papers`: what holds up of each paper, from the files of results; or the pages of the documentation."""

from pathlib import Path

from structron.cli.experiment import OTHERS, RESULTS, experiment_of, papers
from structron.cli.places import check_page_place, check_picture_place, check_places
from structron.errors import StructronError
from structron.experiments.frame.documents import papers_page, picture_of, renewed
from structron.io import atomic_write_bytes

TABLES, VERDICTS, PICTURES = "results.md", "papers.md", "pictures"


def run(results: Path | None = None, write: Path | None = None) -> None:
    """Print the verdicts, or bring the pages in a folder up to date."""
    folder = results or RESULTS
    if not folder.is_dir():
        raise StructronError(
            f"{folder}: no such folder; expected one written by 'structron experiment', such as "
            "results in structron's repository"
        )
    found = [(experiment, experiment.ledger(folder)) for experiment in map(experiment_of, papers())]
    page = papers_page(found)
    if write is None:
        print(page)
        return
    path = write / TABLES
    pictures = {
        write / PICTURES / f"paper-{experiment.name}.svg": drawn
        for experiment, ledger in found
        if (drawn := picture_of(experiment, ledger))
    }
    pages = {path: found}
    for name, place in OTHERS.items():
        own = experiment_of(name)
        ledger = own.ledger(folder)
        if (write / place).exists():
            pages[write / place] = [(own, ledger)]
            pictures |= {write / PICTURES / f"{name}.svg": drawn} if (drawn := picture_of(own, ledger)) else {}
    check_places({"--results": folder.glob("*.json")}, {"--write": [*pages, write / VERDICTS, *pictures]})
    check_page_place("--write", write / VERDICTS, page.partition("\n")[0])
    for place in pictures:
        check_picture_place("--write", place)
    texts = {place: _read(place) for place in pages}
    for place, experiments in pages.items():
        for experiment, ledger in experiments:
            try:
                texts[place] = renewed(texts[place], experiment, ledger)
            except StructronError as error:
                raise StructronError(f"{place}: {error}") from None
    for place, text in texts.items():
        atomic_write_bytes(place, text.encode())
    atomic_write_bytes(write / VERDICTS, page.encode())
    try:
        (write / PICTURES).mkdir(exist_ok=True)
    except OSError as error:
        raise StructronError(f"{write / PICTURES}: cannot be created: {error.strerror}") from None
    for place, drawn in pictures.items():
        atomic_write_bytes(place, drawn.encode())


def _read(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise StructronError(f"{page}: cannot be read: {error.strerror}") from None
