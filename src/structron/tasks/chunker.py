"""Chunking: BIO labels that mark stretches of words, kept in a legal order and scored by conlleval's F1."""

from typing import ClassVar

from structron.tasks.labeler import ChainLabeler


class Chunker(ChainLabeler):
    __doc__ = f"A chunker.\n\n{ChainLabeler.__doc__}"
    task: ClassVar[str] = "chunker"
    metric: ClassVar[str] = "f1"
    default_templates: ClassVar[dict[str, str]] = {"pos": "chunker", "": "chunker-words"}
