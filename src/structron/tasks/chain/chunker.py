"""Chunking: BIO labels that mark stretches of words, kept in a legal order and scored by conlleval's F1."""

from typing import Any, ClassVar

from structron.tasks.chain.labeler import ChainLabeler


class Chunker(ChainLabeler):
    __doc__ = f"A chunker, with the defaults that chunk best.\n\n{ChainLabeler.__doc__}"
    task: ClassVar[str] = "chunker"
    metric: ClassVar[str] = "f1"
    default_templates: ClassVar[dict[str, str]] = {"pos": "chunker", "": "chunker-words"}

    def __init__(self, *, order: int = 1, runs: int = 4, **options: Any):
        super().__init__(order=order, runs=runs, **options)
