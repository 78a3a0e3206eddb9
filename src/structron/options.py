"""Groups of options: every option of every estimator, once. tasks/options.py says which groups a task takes.

A new option is one more field. Every help text imports this module, so it needs neither numpy nor numba.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

from structron.errors import StructronError, unknown
from structron.fields import DEFAULT, Options, choice, free, options, real, switch, whole

MAX_CANDIDATES, MAX_BEAM = 10_000, 1_000
"""Candidates that a search gives, and hypotheses that it keeps: a model file that asks for more is refused."""
MAX_PLACES = 64
"""Positions in a chunk, and words of a chunk that is a feature as a whole."""
LASO = ("laso", "laso-literal")
UPDATES = ("standard", "early", "max-violation", "latest", "hybrid", *LASO)
VARIANTS = ("a-wm", "b-wm", "a-wmr", "b-wmr")
NON_LOCAL = ("phrase", "phrase-majority", "sub-phrase", "sub-phrase-majority", "conjunction")
SCHEMES = ("iob1", "iob2", "iobes", "bilou")
MIXES = ("changes", "uniform", "errors")
QUEUES = ("greedy", "beam", "first-goal", "cut", "best-first", "a-star", "exhaustive")


class TaskOptions(Options):
    """A task, as far as it is known without its estimator."""

    task: ClassVar[str]
    about: ClassVar[str]
    """What it learns, in a sentence."""

    lacks: ClassVar[Mapping[str, str]] = {}
    """What the task cannot do, and why: methods, options, and values of options ("average voted")."""

    flagless: ClassVar[Mapping[str, str]] = {}
    """Options that the task has in Python and not on the command line, and why."""

    texts: ClassVar[bool] = False
    """Whether it learns from documents of text (io.doc.Doc), not from rows."""

    former: ClassVar[Sequence[type[Options]]] = ()
    """Groups of options without effect that model files of earlier versions hold."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        vars(self).pop("resolved", None)

    @cached_property
    def resolved(self) -> Any:
        """What `search` says of predictions: found out once, until an option changes."""
        found: Any = self
        return found.search()

    def check_options(self) -> None:
        """Refuse values that the task lacks, with the reason, and values that are out of range."""
        for what, why in self.lacks.items():
            name, _, value = what.partition(" ")
            if value and getattr(self, name, None) == value:
                raise StructronError(f"{name}: {value}: not available for the {self.task} ({why})")
        super().check_options()


@options()
class Verbosity(Options):
    """What is shown."""

    verbose: bool = switch("Show progress.", default=False, flag=None, stored=False)


@options()
class Passes(Verbosity):
    """How long to train, and what is kept of it."""

    passes: int = whole("Passes over the training data.", default=10)
    runs: int = whole("Mean of N runs over the data in different orders.", default=1)
    average: str = choice("Averaged weights, or those after the last update.", ("mean", "none"), default="mean")
    bpm: int = whole(
        "Start from the mean of N runs of one pass (0: from zero).", default=0, least=0, section="research"
    )
    shuffle: bool = switch("Shuffle the training data before every pass.", default=True, flag=None)
    patience: int = whole("Stop after N passes without improvement on the dev data (0: never).", default=0, least=0)
    stop_change: float | None = real(
        "Stop when the training error changes by less than this fraction.",
        default=None,
        above=0,
        metavar="X",
        none="none",
        section="research",
    )


@options()
class Training(Verbosity):
    """The options of every estimator."""

    seed: int = whole("Random seed for shuffling.", default=1, least=0)
    jobs: int = whole(
        "Threads for prediction, dev scores, runs and shards; results do not depend on it.",
        default=1,
        stored=False,
    )
    shards: int = whole("Train on N shards of the data in parallel, and mix their weights.", default=1)
    ray: str | None = free(
        "Train the shards on a Ray cluster, one worker each.", default=None, metavar="auto|ADDRESS", stored=False
    )
    mix: str = choice(
        "How to mix: average over the shards that changed a weight, over all, or by error counts.",
        MIXES,
        default="changes",
    )


@options()
class Weighted(Options):
    """Weighted violations (Dror & Reichart 2016)."""

    section: ClassVar[str] = "research"

    swvp: str | None = choice(
        "Weight parts of a wrong output by margin (wm) or rank (wmr): only violations (a), or all (b).",
        VARIANTS,
        default=None,
        none="none",
    )
    beta: float = real("Exponent of the weights of --swvp.", default=1.0, above=0, metavar="B")
    jj: Any = free(
        "How --swvp splits outputs: errors, spans, prefixes, whole, or a function.", default="errors", flag=None
    )
    enforce: bool = switch("Make every update of --swvp a violation (their condition 2).", default=False, flag=None)
    scaled: bool = switch("Multiply updates of --swvp by the number of wrong positions.", default=False, flag=None)


@dataclass(frozen=True, slots=True)
class Search:
    """How an estimator searches and learns, all defaults settled."""

    beam: int | None = None
    update: Any = "standard"  # the name of a rule, or a user's own Rule
    merge: int = True  # 2: equivalent states are merged, and count in the beam
    check: bool | None = None
    alma: float | tuple[float, float, float] | None = None
    margin: float | None = None
    swvp: Any = None  # update.swvp.Swvp
    slack: float | None = field(default=None, repr=False)  # of predictions; None: that of the problem

    @property
    def exact(self) -> bool:
        """Whether this is the perceptron with exact search, without need of a beam."""
        return self.beam is None and self.update == "standard" and self.alma is None

    @property
    def update_name(self) -> str:
        """The update rule by name; a user's own goes by its function's."""
        return self.update if isinstance(self.update, str) else getattr(self.update.choose, "__name__", "own")

    @property
    def rule(self) -> str:
        """The update with its step, as signatures name it."""
        update = self.update_name
        if self.swvp is not None:
            return f"{self.swvp}" if update == "standard" else f"{update}-{self.swvp}"
        if self.margin is not None:
            return f"{update}-margin-{self.margin:g}"
        alpha = self.alma[0] if isinstance(self.alma, tuple) else self.alma
        return update if alpha is None else f"{update}-alma-{alpha:g}"

    def checked(self) -> Self:
        """Itself; weighted violations do not go with everything."""
        if getattr(self.update, "expected", False) and self.alma is not None:
            raise StructronError("update: expected=True cannot be combined with alma; expected one of the two")
        if self.swvp is None:
            return self
        means = self.update in LASO or getattr(self.update, "mean", False) or getattr(self.update, "go_on", False)
        given = {"update": self.update_name if means else None, "alma": self.alma, "margin": self.margin}
        for what, value in given.items():
            if value is not None:
                expected = "expected any update but laso, and neither alma nor margin"
                raise StructronError(f"swvp: {self.swvp.variant} cannot be combined with {what} {value}; {expected}")
        return self

    def __str__(self) -> str:
        return f"beam-{'inf' if self.beam is None else self.beam}{'-dp' if self.merge else ''}"


@options()
class Margins(Options):
    """How far an update steps, and what it asks for."""

    section: ClassVar[str] = "learning"

    task_defaults: ClassVar[Mapping[str, Any]] = {}
    """What `default` stands for, where nothing else is said."""

    alma: Any = real(
        "Large-margin updates that aim at ALPHA of the largest margin.",
        default=None,
        above=0,
        most=1,
        metavar="ALPHA|none",
        none="none",
        section="research",
    )
    margin: float | None = real(
        "Margin perceptron: update until the correct output wins by more than C.",
        default=None,
        least=0,
        metavar="C|none",
        none="none",
    )

    def steps(self) -> Search:
        """The steps that the options stand for: those left to their default follow from the others."""
        return self._steps(None)

    def _steps(self, swvp: Any, default_update: bool = True) -> Search:
        """swvp: the weighted violations asked for.   default_update: whether the update is the one that the default
        margin was chosen for."""
        alma, margin = self.alma, self.margin
        if alma == DEFAULT:
            alma = self.task_defaults.get("alma") if margin in (None, DEFAULT) and swvp is None else None
        if margin == DEFAULT:
            margin = self.task_defaults.get("margin") if alma is None and swvp is None and default_update else None
        if margin is not None and alma is not None:
            raise StructronError(f"margin {margin:g} and alma {alma}: expected one of the two (--alma none)")
        return Search(alma=alma, margin=margin, swvp=swvp).checked()


@options()
class Stepping(Weighted, Margins):
    """The same, or weighted violations."""

    section: ClassVar[str] = "research"

    def steps(self) -> Search:
        return self._steps(self._weighted(learning=True))

    def _weighted(self, learning: bool) -> Any:
        """The weighted violations asked for, or None. learning: a user's functions, of which a file keeps the names
        alone, have to be there."""
        if self.swvp is None:
            return None
        from structron.update.swvp import FAMILIES, Swvp

        known = learning or callable(self.jj) or self.jj in FAMILIES
        return Swvp(self.swvp, self.beta, self.jj if known else FAMILIES[0], self.enforce, self.scaled)


@options()
class Searching(Stepping):
    """Inexact search and its updates (Huang, Fayong & Guo 2012; Daumé & Marcu 2005)."""

    section: ClassVar[str] = "search"

    beam: Any = whole(
        "Hypotheses that the search keeps at each step; inf: all.",
        default=8,
        most=MAX_BEAM,
        metavar="N|inf",
        none="inf",
    )
    update: Any = free("Update rule for inexact search.", default="max-violation", choices=UPDATES)
    merge: bool = switch("Merge equivalent hypotheses (dynamic programming).", default=True, section="research")
    count_merged: bool = switch(
        "Merged hypotheses count in the beam, as in the program of Huang et al. (2012).",
        default=False,
        flag=None,
        section="research",
    )
    check: Any = switch(
        "Check that every update is a violation (slow).",
        default=None,
        flag="--check-violations",
        stored=False,
        none="none",
        section="research",
    )

    def search(self, learning: bool = False) -> Search:
        """The search that the options stand for: those left to their default follow from the others.

        learning: a user's functions, of which a file keeps the names alone, have to be there.
        """
        steps, update, beam = self._steps(self._weighted(learning), self._is_default_update()), self.update, self.beam
        if update in (None, DEFAULT):
            update = self._usual_update(steps)
        if learning and isinstance(update, str) and update not in UPDATES:
            raise unknown("update", update, UPDATES)
        if isinstance(beam, str):
            usual = self.task_defaults.get("beam")
            beam = 8 if usual is None and (update != "standard" or steps.alma is not None) else usual
        merge = 1 + self.count_merged if self.merge else 0
        found = dataclasses.replace(steps, beam=beam, update=update, merge=merge, check=self.check)
        return found.checked()

    def _is_default_update(self) -> bool:
        return "update" not in self.task_defaults or self.update in (None, DEFAULT, self.task_defaults["update"])

    def _usual_update(self, steps: Search) -> str:
        if steps.alma is not None:
            return "laso"
        usual = self.task_defaults.get("update", "standard")
        if usual == "laso" and steps.swvp is not None:
            return "max-violation"
        return "max-violation" if usual == "standard" and isinstance(self.beam, int) else usual


@options()
class Templates(Options):
    """Feature templates."""

    section: ClassVar[str] = "features"

    default_templates: ClassVar[Mapping[str, str]] = {}
    """The preset for files that have a column, the first that fits; "": any."""

    templates: Any = free(
        "Feature templates, one per line, or the name of a preset.",
        default=DEFAULT,
        metavar="FILE|PRESET",
        stored=False,
        fixed=True,
    )


@options()
class Cutoff(Options):
    """Rare features."""

    section: ClassVar[str] = "features"

    cutoff: int = whole("Leave out features seen fewer than N times.", default=0, least=0)


@options()
class WordClusters(Options):
    """Classes of words from raw text."""

    section: ClassVar[str] = "features"

    clusters: Any = free(
        "Word clusters from raw text: bits, as written by structron cluster, or numbers.",
        default=None,
        metavar="FILE",
        stored=False,
        fixed=True,
    )


@options()
class WordLexicon(Options):
    """Lemmas and tags of words from elsewhere."""

    section: ClassVar[str] = "features"

    lexicon: Any = free(
        "Lexicon: lines of form, lemma and UPOS (possibly XPOS, FEATS); all of it is stored in the model.",
        default=None,
        metavar="FILE",
        stored=False,
        fixed=True,
    )


@options()
class Gazetteers(Options):
    """Lists of names."""

    section: ClassVar[str] = "features"

    gazetteers: Mapping[str, Any] | None = free(
        "List of phrases to mark, one per line (repeatable).",
        default=None,
        kind="files",
        metavar="TYPE=FILE",
        flag="--gazetteer",
        stored=False,
        fixed=True,
    )


@options()
class Partial(Options):
    """Training data of which only some labels are known."""

    section: ClassVar[str] = "data"

    open_label: str | None = free(
        "String that marks an unknown label in training data (in Python also None).",
        default=None,
        metavar="TEXT",
        stored=False,
    )


@options()
class Tokens(Gazetteers, WordClusters, WordLexicon, Cutoff, Templates):
    """Features of tokens in columns."""

    columns: Sequence[str] | None = free("Names of a token's columns.", default=None, flag=None, holds="texts")
    label: str | None = free(
        "Column to learn, by default the last; CoNLL-U: upos, xpos, feats …",
        default=None,
        metavar="COLUMN",
        section="data",
    )


@options()
class OwnAtoms(Options):
    """Features that the user computes."""

    atoms: Mapping[str, Callable] | None = free(
        "Named functions of (sentence, position) that return a string.", default=None, flag=None, stored=False
    )


@options()
class TagDictionary(Options):
    """Labels that words were seen with."""

    section: ClassVar[str] = "search"

    tag_dictionary: int = whole(
        "Words seen N times or more only get labels they were seen with (0: off).", default=0, least=0
    )
    closed_classes: bool = switch(
        "Give a word a closed-class label only if it was seen with it.", default=False, flag="--closed-classes"
    )


@options()
class LookUps(Options):
    """Labels that were seen with a word or its ending."""

    section: ClassVar[str] = "search"

    given: Sequence[str] = free(
        "Columns to look up together with the word (--among seen).", default=(), flag=None, holds="texts"
    )
    rare: int = whole(
        "Words seen fewer than N times may also get the labels of their ending (--among seen).", default=10, flag=None
    )


@options()
class Lexical(LookUps):
    """Which labels there are to choose from."""

    among: str = choice(
        "Candidates: all labels, or those seen with the word or its ending (for hundreds of labels).",
        ("all", "seen"),
        default=DEFAULT,
        fixed=True,
    )


@options()
class Chains(Options):
    """Label sequences."""

    section: ClassVar[str] = "learning"

    average: str = choice(
        "Averaged weights, those after the last update, or a vote of all (for small data).",
        ("mean", "none", "voted"),
        default="mean",
    )
    order: int = whole(
        "Markov order of the labels; graph-parser: of the arcs.",
        default=1,
        most=2,
        metavar="1|2",
        fixed=True,
        section="search",
    )
    constrain: bool = switch("Keep chunk labels in a legal order.", default=True, section="search")
    forbid: Iterable[tuple[str, str]] = free(
        "Never let label B follow label A (repeatable).", default=(), kind="pairs", metavar='"A B"', section="search"
    )


@options()
class Texts(Options):
    """Plain text."""

    section: ClassVar[str] = "data"

    lines: bool = switch("Every line ends a paragraph, not only blank lines.", default=False, flag="--lines")


@options()
class Documents(Options):
    """Features of whole documents, learned from n-best candidates (Kazama & Torisawa 2007)."""

    section: ClassVar[str] = "features"

    non_local: Any = free(
        f"Document features: {', '.join(NON_LOCAL)} (repeatable, or with commas), or none.",
        default=(),
        kind="names",
        metavar="NAME",
        stored=False,
    )
    candidates: int = whole(
        "n-best labellings to learn document features from.", default=20, most=MAX_CANDIDATES, section="search"
    )
    test_candidates: int = whole(
        "n-best labellings to choose from when predicting.", default=100, most=MAX_CANDIDATES, section="search"
    )
    local_update: str = choice(
        "When to update the local model that finds the candidates.",
        ("aggressive", "conservative", "none", "sentences"),
        default="aggressive",
        section="research",
    )
    local_margin: float | None = real(
        "Margin of the local model; default: that of --margin.",
        default=None,
        least=0,
        metavar="C",
        none="none",
        section="research",
    )


@options()
class Entities(Options):
    """Named entities."""

    inner: str = choice("Chunk scheme inside the model; files keep their own.", SCHEMES, default="iob2", fixed=True)


@options()
class Chunks(Options):
    """Chunks as whole segments."""

    section: ClassVar[str] = "search"

    longest: int | None = whole("Longest chunk, in words (segments); longer ones are split.", default=50, none="none")
    positions: int = whole(
        "Word positions in a chunk with features of their own; the last stands for all further ones.",
        default=3,
        most=MAX_PLACES,
        flag=None,
        section="features",
        fixed=True,
    )
    whole_chunks: int = whole(
        "Length of the longest chunk whose whole sequence of words is a feature.",
        default=6,
        least=0,
        most=MAX_PLACES,
        flag=None,
        section="features",
        fixed=True,
    )
    unseen_chunks: bool = switch(
        "Also use sequences that are not chunks in the training data as features (much memory).",
        default=False,
        flag=None,
        section="features",
    )


@options()
class Tags(Options):
    """Parts of speech."""

    section: ClassVar[str] = "data"

    pos: str | None = free(
        "Column of the parts of speech, by default pos; CoNLL-U: upos (default) or xpos.",
        default=None,
        metavar="COLUMN",
        fixed=True,
    )


@options()
class Trees(WordClusters, Tags):
    """Dependency trees."""

    section: ClassVar[str] = "learning"

    columns: Sequence[str] | None = free("Names of a token's columns.", default=None, flag=None, holds="texts")
    labelled: bool = switch(
        "Heads and relations, or heads only.", default=True, flag="--labelled/--unlabelled", fixed=True
    )
    nonprojective: str = choice(
        "Trees with crossing arcs: lift the arcs, or skip the sentences.",
        ("lift", "skip"),
        default="lift",
        section="data",
    )
    cutoff: int = whole(
        "Leave out features seen fewer than N times; parsers: words.", default=1, least=0, section="features"
    )
    prune: float = real(
        "Drop weights of at most W from the model (parsers).", default=0.0, least=0, metavar="W", section="output"
    )


@options()
class Compact(Options):
    """Files that are to be small."""

    section: ClassVar[str] = "output"

    compact: bool = switch("Write a small model file: drop small weights, store the others in few bits.", default=False)


@options()
class Transitions(Compact):
    """Shift-reduce parsing."""

    slack: Any = real(
        "Prune hypotheses more than N standard deviations below the best (prediction only); inf: never.",
        default=DEFAULT,
        above=0,
        metavar="N|inf",
        none="inf",
        section="search",
    )
    limit_relations: bool = switch(
        "Use only relations seen with a pair of tags, and avoid what trees of the training data never have.",
        default=True,
        flag=None,
    )
    right_to_left: bool = switch(
        "Parse sentences from the last word to the first.",
        default=False,
        flag="--right-to-left",
        fixed=True,
        section="search",
    )


@options()
class Graphs(Options):
    """Graph-based parsing."""

    section: ClassVar[str] = "search"

    order: int = whole(
        "Markov order of the labels; graph-parser: of the arcs.", default=2, most=2, metavar="1|2", fixed=True
    )
    grandparents: bool = switch("At order 2, use grandparents as well as siblings.", default=True)
    projective: bool = switch("Search only trees without crossing arcs (graph-parser).", default=True)
    single_root: bool = switch(
        "Trees have a single root, or any number of roots.", default=True, flag="--single-root/--many-roots"
    )
    keep_heads: int = whole(
        "Candidate heads per word that a fast first model keeps; 0: all.", default=8, least=0, most=MAX_CANDIDATES
    )
    bits: int = whole("The model has 2^N hashed weights (graph-parser).", default=24, least=10, most=30, flag=None)


def many_roots(task: TaskOptions) -> bool:
    """Whether trees may have several roots; parsers without that option find trees with a single one."""
    return not getattr(task, "single_root", True)


@options()
class Pipelines(Gazetteers, WordClusters, WordLexicon, Texts, Compact):
    """From text to trees."""

    without: Sequence[str] = free(
        "Part to leave out: tokenizer, splitter, tagger, morphology, lemmatizer, parser, entities (repeatable).",
        default=(),
        kind="names",
        metavar="PART",
        section="learning",
    )
    folds: int = whole("Folds for tagging the parser's training data.", default=5, least=2, flag=None)
    fast: bool = switch(
        "Use a narrower beam for the parser: faster, slightly less accurate.",
        default=False,
        flag="--fast",
        section="search",
    )
    best: bool = switch(
        "Combine three parsers: more accurate, slower.", default=False, flag="--best", section="learning"
    )


@options()
class Queues(Options):
    """Generic search."""

    queue: str = choice("Order of the search.", QUEUES, default="best-first", flag=None)
    beam: int | None = whole(
        "Nodes kept at each depth (queue beam, first-goal) or in all (cut).",
        default=8,
        most=MAX_BEAM,
        none="inf",
        flag=None,
    )
    update: str = choice("LaSO's update, or its eq. (2) as printed.", LASO, default="laso", flag=None)
    check: Any = switch(
        "Check every update; all: first run all examples uncompiled too (slow).",
        default=None,
        choices=("all",),
        flag=None,
        stored=False,
        none="none",
    )
    heuristic: Callable | None = free(
        "heuristic(x, table, states, s): an upper bound of what can still be gained from row s.",
        default=None,
        flag=None,
        stored=False,
    )
    limit: int = whole("Largest number of nodes to expand for one example.", default=100_000, flag=None)
