"""What training data say of a lemma that was never seen with its form: whether another form has it.

    condemned:   Led→  condemn, a lemma that `condemns` has too        Ld→  condemne, which no word has

For each word the commonest scripts (text/scripts.py) that make a known lemma of it are atoms, `known1` to `known3`, for
templates to look at. A lemma that the word alone has does not count as known, so that words of training data are like
those that are yet to come. Another spelling is another word: chicago, which is new, has the lemma of Chicago.
Lemmas of a user's lexicon are known too; those that it has for the word come first.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from structron.features.extract import NOTHING, WordAtom
from structron.features.lexicon import normal
from structron.features.wordforms import WordForms
from structron.io.tensors import Tensors, pack_json, taken, unpack_json
from structron.text.scripts import WHOLE, apply_lemma, lemma_demands, lemma_script

ATOMS = ("known1", "known2", "known3")
EVIDENCE = 3
"""Words that a script must have been seen with."""
REMEMBERED = 100_000
"""Words whose atoms are kept."""


class KnownLemmas:
    """Lemmas of training data, and the scripts that may lead to them."""

    def __init__(
        self, scripts: Sequence[str], lemmas: dict[str, str], fold: bool = False, lexicon: WordForms | None = None
    ):
        """scripts: the commonest first.   lemmas: each with its form, "" where it has several.   fold: forms are in
        lower case, as in files of earlier versions.   lexicon: that of the user."""
        self.scripts, self.lemmas, self.fold, self.lexicon = list(scripts), lemmas, fold, lexicon
        self._by_ending: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        for rank, script in enumerate(self.scripts):
            front, back = map(normal, lemma_demands(script))
            self._by_ending[back].append((rank, front, script))
        self._longest = max(map(len, self._by_ending), default=0)
        self._found: dict[str, list[str]] = {}

    @classmethod
    def learn(cls, pairs: Iterable[tuple[str, str]], lexicon: WordForms | None = None) -> "KnownLemmas":
        """From distinct pairs of form and lemma."""
        forms: defaultdict[str, set[str]] = defaultdict(set)
        counts: Counter[str] = Counter()
        for form, lemma in pairs:
            forms[lemma].add(form)
            counts[lemma_script(form, lemma)] += 1
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        scripts = [script for script, count in ranked if count >= EVIDENCE and script[:1] != WHOLE]
        lemmas = {lemma: next(iter(own)) if len(own) == 1 else "" for lemma, own in sorted(forms.items())}
        return cls(scripts, lemmas, lexicon=lexicon)

    def __call__(self, word: str) -> list[str]:
        """The commonest scripts that make known lemmas of a word, each another one."""
        return self._found_for([word])[0]

    def _found_for(self, words: list[str]) -> list[list[str]]:
        new = [word for word in words if word not in self._found]
        made: list[Iterable[tuple[str, str]]] = [self._possible(word) for word in new]
        given: list[list[str]] = [[] for _ in new]
        known: set[str] = set()
        if self.lexicon is not None:
            given, made = self.lexicon.lemmas_of(new, [""] * len(new)), list(map(list, made))
            texts = list({lemma for own in made for lemma, _ in own})
            known = {text for text, is_lemma in zip(texts, self.lexicon.are_lemmas(texts), strict=True) if is_lemma}
        found = dict(zip(new, map(self._chosen, new, made, given, [known] * len(new)), strict=True))
        if len(self._found) < REMEMBERED:
            self._found.update(found)
        return [found[word] if word in found else self._found[word] for word in words]

    def _possible(self, word: str) -> Iterator[tuple[str, str]]:
        """The lemmas that scripts make of a word, with the script, the commonest first."""
        spelled = normal(word)
        fitting = [
            (rank, script)
            for k in range(min(self._longest, len(spelled)) + 1)
            for rank, front, script in self._by_ending.get(spelled[len(spelled) - k :], ())
            if spelled.startswith(front)
        ]
        return ((lemma, script) for _, script in sorted(fitting) if (lemma := apply_lemma(script, word)))

    def _chosen(self, word: str, made: Iterable[tuple[str, str]], given: list[str], known: set[str]) -> list[str]:
        """The scripts of a word: to the lemmas that the lexicon has for it, and to others that are known."""
        own = word.lower() if self.fold else word
        found = {lemma: lemma_script(word, lemma) for lemma in given}
        for lemma, script in made:
            if len(found) >= len(ATOMS):
                break
            if lemma not in found and (self.lemmas.get(lemma, own) != own or lemma in known):
                found[lemma] = script
        scripts = list(found.values())[: len(ATOMS)]
        return [*scripts, *[NOTHING] * (len(ATOMS) - len(scripts))]

    def atoms(self, wanted: Iterable[str]) -> dict[str, WordAtom]:
        """Some of the atoms."""
        return {name: WordAtom(self._found_for, ATOMS.index(name)) for name in wanted}

    # -- files ---------------------------------------------------------------------------------------------------

    def tensors(self) -> Tensors:
        """For a model file."""
        return {"known_lemmas": pack_json([self.scripts, self.lemmas, self.fold])}

    @classmethod
    def take(cls, tensors: Tensors, lexicon: WordForms | None = None) -> "KnownLemmas":
        """Those of a model file, taken out of its arrays; ValueError: they do not fit."""
        found = unpack_json(taken(tensors, "known_lemmas"))
        if not isinstance(found, list) or len(found) not in (2, 3):
            raise ValueError("known lemmas do not fit")
        scripts, lemmas, fold = (*found, True)[:3]
        if not isinstance(scripts, list) or not isinstance(lemmas, dict) or not isinstance(fold, bool):
            raise ValueError("known lemmas do not fit")
        if not all(isinstance(text, str) for text in (*scripts, *lemmas.values())):
            raise ValueError("known lemmas do not fit")
        return cls(scripts, lemmas, fold, lexicon)
