"""Part-of-speech (or any other) tagging: one label per word, scored by accuracy."""

from typing import Any, ClassVar

from structron.tasks.chain.labeler import ChainLabeler


class Tagger(ChainLabeler):
    __doc__ = f"A tagger, with the defaults that tag best.\n\n{ChainLabeler.__doc__}"
    task: ClassVar[str] = "tagger"
    metric: ClassVar[str] = "accuracy"
    default_templates: ClassVar[dict[str, str]] = {"": "tagger"}

    def __init__(self, *, order: int = 2, runs: int = 4, cutoff: int = 2, **options: Any):
        super().__init__(order=order, runs=runs, cutoff=cutoff, **options)
