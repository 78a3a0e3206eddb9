"""Lemmas letter by letter: a transducer that copies, drops and writes letters, as a search problem.

    kitaplarımızda   copy copy copy copy copy drop drop … end   →   kitap
    kitabımız        copy copy copy copy p    drop drop … end   →   kitap

Words of an invented language carry up to four endings in any order, whose vowels go with those of the stem, and b, d, g
and c at the end of a stem were p, t, k and ç. An edit script ("cut -larımızda") can only do what it did in training; a
transducer goes through endings it has never seen together. Where the stem ends shows only later, so a beam helps.

    python examples/lemma_letters.py
"""

from random import Random

from structron import BeamLearner, Lemmatizer, SearchProblem

LETTERS = "abcdefghijklmnoprstuvyzçöüığş"
ENDINGS = ("lAr", "ImIz", "DA", "sIz", "lIk", "cA")  # A: a or e; I: ı or i; D: t after p, ç, t and k, or d
VOICED = {"b": "p", "d": "t", "g": "k", "c": "ç"}
ACTIONS = ["copy", "drop", "end", *VOICED.values()]
COPY, DROP, END, WRITE = range(4)
AT, DROPPED, WIDTH = 1, 2, 3
"""Columns of a state: the next letter, and whether a letter has been dropped."""


def start(x, table, states, s):
    states[s, AT] = states[s, DROPPED] = 0


def legal(x, table, states, s, out):
    at, count = states[s, AT], 0
    if at == x.shape[0] - 1:
        out[0] = END
        return 1
    if at >= x.shape[0]:
        return 0
    out[0] = DROP
    count = 1
    if states[s, DROPPED] == 0:
        out[1] = COPY
        count = 2
        if table[x[at, 0]] > 0:  # the letter that it can stand for
            out[2] = table[x[at, 0]]
            count = 3
    return count


def advance(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, DROPPED] = 1 if action == DROP else 0


def atoms(x, table, states, s, out):
    at = states[s, AT]
    for k in range(8):  # three letters before, this one, four after
        out[k] = x[at + k - 3, 0] if 0 <= at + k - 3 < x.shape[0] else 0
    out[8], out[9] = states[s, DROPPED], min(at, 4)


def encode(word):
    """Letters as numbers from 1 on, and an end."""
    return [*(LETTERS.index(letter) + 1 for letter in word), len(LETTERS) + 1]


PROBLEM = SearchProblem(
    name="lemma letters",
    actions=ACTIONS,
    width=WIDTH,
    start=start,
    legal=legal,
    advance=advance,
    atoms=atoms,
    atom_names={**{f"c{k}": len(LETTERS) + 2 for k in range(-3, 5)}, "dropped": 2, "at": 5},
    templates=[
        *("c0|c1", "c0|c1|c2", "c-1|c0|c1", "c0|c1|c2|c3", "c-1|c0|c1|c2|c3", "c0|c1|c2|c3|c4", "c-2|c-1|c0|c1"),
        *("c-3|c-2|c-1|c0", "dropped|c0|c1|c2", "dropped|c-1|c0|c1", "at|c0", "at|c-1|c0|c1"),
    ],
    table=[0, *(WRITE + list(VOICED).index(letter) if letter in VOICED else 0 for letter in LETTERS), 0],
    max_steps=lambda n: n,
)


def inflected(stem, rng):
    """A stem with some of its endings, at least one."""
    back = [letter for letter in stem if letter in "aıoueiöü"][-1] in "aıou"
    endings = rng.sample(ENDINGS, rng.randint(1, 4))
    voiced = {hard: soft for soft, hard in VOICED.items()} if endings[0] == "ImIz" else {}
    word = stem[:-1] + voiced.get(stem[-1], stem[-1])
    for ending in endings:
        own = ending.replace("D", "t" if word[-1] in "pçtk" else "d")
        word += own.replace("A", "a" if back else "e").replace("I", "ı" if back else "i")
    return word


def words(count, seed):
    """Pairs of a form and its lemma, of stems that are all different."""
    rng, seen = Random(seed), set()
    while len(seen) < count:
        vowels = rng.choice(("aıou", "eiöü"))
        syllables = (rng.choice("bdgklmnprstvyzçş") + rng.choice(vowels) for _ in range(rng.randint(1, 3)))
        seen.add("".join(syllables) + rng.choice("lnmrptkç"))
    return [(inflected(stem, rng), stem) for stem in sorted(seen, key=lambda stem: rng.random())]


def actions_of(form, lemma):
    """What makes a lemma of a form: both begin alike, but for a voiced letter at the end of the lemma."""
    copied = ["copy" if a == b else b for a, b in zip(form, lemma, strict=False)]
    return [*copied, *["drop"] * (len(form) - len(lemma)), "end"]


def spelled(form, actions):
    """The lemma that actions write."""
    letters = ((letter if action == "copy" else action) for letter, action in zip(form, actions, strict=False))
    return "".join(letter for letter in letters if letter != "drop")


def main(size=1500):
    data = words(size + size // 2, 1)
    train, test = data[:size], data[size:]
    print(f"{size} words to learn from, {len(test)} with other stems to test on")
    scripts = Lemmatizer(columns=["form", "lemma"], cutoff=0).fit([[pair] for pair in train])
    found = [lemma for (lemma,) in scripts.predict([[(form,)] for form, _ in test])]
    print(f"edit scripts        {right(found, test):5.1f} % right")
    examples = [(encode(form), actions_of(form, lemma)) for form, lemma in train]
    for beam in (1, 8):
        model = BeamLearner(PROBLEM, beam=beam, update="max-violation", passes=6).fit(examples)
        actions = model.predict(encode(form) for form, _ in test)
        found = [spelled(form, own) for (form, _), own in zip(test, actions, strict=True)]
        print(f"letters, beam {beam}     {right(found, test):5.1f} % right", flush=True)
    for (form, lemma), own in list(zip(test, found, strict=True))[:6]:
        print(f"{form} → {own}{'' if own == lemma else f'   ({lemma})'}")


def right(found, pairs):
    """How many lemmas are right, in per cent."""
    return 100 * sum(own == lemma for own, (_, lemma) in zip(found, pairs, strict=True)) / len(pairs)


if __name__ == "__main__":
    main()
