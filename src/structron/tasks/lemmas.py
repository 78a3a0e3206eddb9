"""What training data say of a lemma that was never seen with its form: whether another form has it.

    condemned:   Led→  condemn, a lemma that `condemns` has too        Ld→  condemne, which no word has

For each word the commonest scripts (text/scripts.py) that make a known lemma of it are atoms, `known1` to `known3`, for
templates to look at. A lemma that the word alone has does not count as known, so that words of training data are like
those that are yet to come. Another spelling is another word: chicago, which is new, has the lemma of Chicago.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from structron.features.extract import NOTHING, WordAtom
from structron.features.lexicon import normal
from structron.io.tensors import Tensors, pack_json, taken, unpack_json
from structron.text.scripts import WHOLE, apply_lemma, lemma_demands, lemma_script

ATOMS = ("known1", "known2", "known3")
EVIDENCE = 3
"""Words that a script must have been seen with."""
REMEMBERED = 100_000
"""Words whose atoms are kept."""


class KnownLemmas:
    """Lemmas of training data, and the scripts that may lead to them."""

    def __init__(self, scripts: Sequence[str], lemmas: dict[str, str], fold: bool = False):
        """scripts: the commonest first.   lemmas: each with its form, "" where it has several.   fold: forms are in
        lower case, as in files of earlier versions."""
        self.scripts, self.lemmas, self.fold = list(scripts), lemmas, fold
        self._by_ending: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        for rank, script in enumerate(self.scripts):
            front, back = map(normal, lemma_demands(script))
            self._by_ending[back].append((rank, front, script))
        self._longest = max(map(len, self._by_ending), default=0)
        self._found: dict[str, list[str]] = {}

    @classmethod
    def learn(cls, pairs: Iterable[tuple[str, str]]) -> "KnownLemmas":
        """From distinct pairs of form and lemma."""
        forms: defaultdict[str, set[str]] = defaultdict(set)
        counts: Counter[str] = Counter()
        for form, lemma in pairs:
            forms[lemma].add(form)
            counts[lemma_script(form, lemma)] += 1
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        scripts = [script for script, count in ranked if count >= EVIDENCE and script[:1] != WHOLE]
        return cls(scripts, {lemma: next(iter(own)) if len(own) == 1 else "" for lemma, own in sorted(forms.items())})

    def __call__(self, word: str) -> list[str]:
        """The commonest scripts that make known lemmas of a word, each another one."""
        found = self._found.get(word)
        if found is None:
            found = self._scripts_for(word)
            if len(self._found) < REMEMBERED:
                self._found[word] = found
        return found

    def _scripts_for(self, word: str) -> list[str]:
        spelled, own = normal(word), word.lower() if self.fold else word
        fitting = [
            (rank, script)
            for k in range(min(self._longest, len(spelled)) + 1)
            for rank, front, script in self._by_ending.get(spelled[len(spelled) - k :], ())
            if spelled.startswith(front)
        ]
        found: dict[str, str] = {}
        for _, script in sorted(fitting):
            lemma = apply_lemma(script, word)
            if lemma and lemma not in found and self.lemmas.get(lemma, own) != own:
                found[lemma] = script
                if len(found) == len(ATOMS):
                    break
        return [*found.values(), *[NOTHING] * (len(ATOMS) - len(found))]

    def atoms(self, wanted: Iterable[str]) -> dict[str, WordAtom]:
        """Some of the atoms."""
        return {name: WordAtom(self._found_for, ATOMS.index(name)) for name in wanted}

    def _found_for(self, words: list[str]) -> list[list[str]]:
        return list(map(self, words))

    # -- files ---------------------------------------------------------------------------------------------------

    def tensors(self) -> Tensors:
        """For a model file."""
        return {"known_lemmas": pack_json([self.scripts, self.lemmas, self.fold])}

    @classmethod
    def take(cls, tensors: Tensors) -> "KnownLemmas":
        """Those of a model file, taken out of its arrays; ValueError: they do not fit."""
        found = unpack_json(taken(tensors, "known_lemmas"))
        if not isinstance(found, list) or len(found) not in (2, 3):
            raise ValueError("known lemmas do not fit")
        scripts, lemmas, fold = (*found, True)[:3]
        if not isinstance(scripts, list) or not isinstance(lemmas, dict) or not isinstance(fold, bool):
            raise ValueError("known lemmas do not fit")
        if not all(isinstance(text, str) for text in (*scripts, *lemmas.values())):
            raise ValueError("known lemmas do not fit")
        return cls(scripts, lemmas, fold)
