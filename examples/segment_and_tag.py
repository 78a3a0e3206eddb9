"""Words and their tags at once, from characters alone: a search problem of your own, learned at compiled speed.

    python examples/segment_and_tag.py                               an artificial language
    python examples/segment_and_tag.py train.conllu test.conllu      a treebank, for instance UD Chinese (.gz too)

The search reads a text character by character: B-TAG begins a new word with that tag, I adds the character to the
word, END closes the last word. Whether a word was well chosen often shows only later, so it pays to keep several
states (beam 8) instead of one (beam 1, greedy), and to learn from where the search went most wrong (max-violation).
"""

import sys
from itertools import pairwise
from random import Random

from structron import Alphabet, BeamLearner, SearchProblem
from structron.io import read

AT, START, TAG, LAST_TAG, LAST_LENGTH, WIDTH = range(1, 7)  # columns of a state; column 0 belongs to the engine
ADD, END, BEGIN = 0, 1, 2  # actions
LONG = 8  # where lengths stop counting


def start(x, table, states, s):
    for column in range(AT, WIDTH):
        states[s, column] = 0


def legal(x, table, states, s, out):
    at, n, count = states[s, AT], x.shape[0], 0
    if at < n:
        for tag in range(table[0]):  # how many tags there are depends on the data, so it stands in the table
            out[tag] = BEGIN + tag
        count = table[0]
    if 0 < at <= n:
        out[count] = ADD if at < n else END
        count += 1
    return count


def advance(x, table, states, s, action, t):
    for column in range(AT, WIDTH):
        states[t, column] = states[s, column]
    states[t, AT] += 1
    if action >= BEGIN:
        states[t, LAST_TAG] = states[s, TAG]
        states[t, LAST_LENGTH] = min(states[s, AT] - states[s, START], LONG)
        states[t, START] = states[s, AT]
        states[t, TAG] = 1 + action - BEGIN


def atoms(x, table, states, s, out):
    """Characters around; of the word so far all characters as one number, the first, the length; tags."""
    n, begin = x.shape[0], states[s, START]
    at, word = min(states[s, AT], n), 0
    for i in range(begin, at):
        word = (word * 1000003 + x[i, 0]) & 0x3FFFFFFFFFF
    for k in range(4):
        out[k] = x[at + k - 2, 0] if 0 <= at + k - 2 < n else 0
    out[4] = word
    out[5] = x[begin, 0]
    out[6] = min(at - begin, LONG)
    out[7] = states[s, TAG]
    out[8] = states[s, LAST_TAG]
    out[9] = states[s, LAST_LENGTH]


TEMPLATES = [
    *("c-1", "c0", "c1", "c-2|c-1", "c-1|c0", "c0|c1", "c-2|c-1|c0", "c-1|c0|c1", "tag|c0", "tag|c-1|c0", "tag|c0|c1"),
    *("word", "word|tag", "word|c0", "word|tag|last", "word|last_length", "first|length|tag", "first|c-1|tag"),
    *("length|tag", "length|c-1|c0", "length|last|last_length", "tag|last", "tag|last|c0"),
]


def make_problem(characters, tags):
    c, t, length = characters.size, len(tags) + 1, LONG + 1  # numbers of values; 0 would mean any number
    sizes = {"c-2": c, "c-1": c, "c0": c, "c1": c, "word": 0, "first": c, "length": length}
    return SearchProblem(
        name="segment and tag",
        actions=["I", "END", *(f"B-{name}" for name in tags)],
        width=WIDTH,
        start=start,
        legal=legal,
        advance=advance,
        atoms=atoms,
        atom_names=sizes | {"tag": t, "last": t, "last_length": length},
        templates=TEMPLATES,
        table=[len(tags)],
        max_steps=lambda n: n + 1,
    )


def words_of(actions, tagged):
    """The words that actions make, as (begin, end) or (begin, end, tag)."""
    begins = [k for k, action in enumerate(actions) if action != "I"]
    return {(a, b, actions[a]) if tagged else (a, b) for a, b in pairwise(begins)}


def f1(gold, guess, tagged):
    pairs = [(words_of(a, tagged), words_of(b, tagged)) for a, b in zip(gold, guess, strict=True)]
    return 200 * sum(len(a & b) for a, b in pairs) / sum(len(a) + len(b) for a, b in pairs)


def artificial(count, rng):
    """Sentences of (word, tag). Words are short and share characters, so that a text can be cut in many ways."""
    follow = {"D": "NNA", "A": "NNNA", "N": "VVVPN.", "V": "NDDAP.", "P": "NDD"}
    sizes = {"D": 4, "A": 25, "N": 80, "V": 60, "P": 5}
    some = "天地人山水火木金土日月風雨雪花草鳥魚馬牛"
    lexicon = {t: ["".join(rng.choices(some, k=rng.choice((1, 2, 2, 3)))) for _ in range(n)] for t, n in sizes.items()}
    for _ in range(count):
        sentence, tag = [], rng.choice("NND")
        while tag != "." and len(sentence) < 20:
            place = int(rng.random() ** 2 * len(lexicon[tag]))  # the first words are the frequent ones
            sentence.append((lexicon[tag][place], tag))
            tag = rng.choice(follow[tag])
        yield sentence


def main(paths=(), size=1200):
    if paths:
        train, test = ([[(row[1], row[3]) for row in sentence.rows] for sentence in read(path)] for path in paths)
    else:
        sentences = list(artificial(size + size // 4, Random(1)))
        train, test = sentences[:size], sentences[size:]
    characters = Alphabet.of(c for sentence in train for word, _ in sentence for c in word)
    tags = sorted({tag for sentence in train for _, tag in sentence})

    def example(sentence):
        actions = [action for word, tag in sentence for action in (f"B-{tag}", *"I" * (len(word) - 1))]
        return characters.encode("".join(word for word, _ in sentence)), [*actions, "END"]

    train_examples, test_examples = [example(s) for s in train], [example(s) for s in test]
    gold = [actions for _, actions in test_examples]
    print(f"{len(train)} sentences to learn from, {len(test)} to test on, {len(tags)} tags")
    print("beam  update         words F1  words and tags F1")
    for update in ("early", "max-violation"):
        for beam in (1, 8):
            model = BeamLearner(make_problem(characters, tags), beam=beam, update=update, passes=4).fit(train_examples)
            guess = model.predict([x for x, _ in test_examples])
            print(f"{beam:4}  {update:13} {f1(gold, guess, False):9.2f} {f1(gold, guess, True):18.2f}", flush=True)
    for sentence, actions in zip(test[:3], guess, strict=False):
        text, cuts = "".join(word for word, _ in sentence), [k for k, a in enumerate(actions) if a != "I"]
        print(text, "→", " ".join(f"{text[a:b]}/{actions[a][2:]}" for a, b in pairwise(cuts)))


if __name__ == "__main__":
    main(sys.argv[1:])
