"""Part-of-speech (or any other) tagging: one label per word, scored by accuracy."""

from typing import ClassVar

from structron.tasks.labeler import ChainLabeler


class Tagger(ChainLabeler):
    __doc__ = f"A tagger.\n\n{ChainLabeler.__doc__}"
    task: ClassVar[str] = "tagger"
    metric: ClassVar[str] = "accuracy"
    default_templates: ClassVar[dict[str, str]] = {"": "tagger"}
