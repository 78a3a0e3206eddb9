"""Repairing brackets: nested groups, some of whose brackets are wrong, lost or superfluous. A problem with a stack.

    (ab[12{a1b2}3)   →   (ab[12{a1b2}3])      a bracket was lost: which, and where?

Groups differ in what they hold: ( ) letters, [ ] digits, { } letters and digits in turn, and every kind other groups.
The search reads a text character by character, with the open groups on a stack. Which bracket is to blame often shows
only later: greedy search (beam 1) has decided by then. States that differ only deeper in the stack are searched as one
(merging: dynamic programming), so that a beam stands for many more derivations than it has states.

    python examples/noisy_brackets.py
"""

from random import Random

from structron import TAIL, BeamLearner, SearchProblem

BRACKETS, LETTER, DIGIT = "([{)]}", 7, 8  # characters as numbers: brackets from 1 on, letters, digits
ACTIONS = ["keep", "drop", "close", "add close", "open (", "open [", "open {"]
KEEP, DROP, CLOSE, ADD_CLOSE, OPEN = range(5)
AT, KIND, LETTERS, DIGITS, LAST, WIDTH = range(1, 7)
"""Columns of a state: the next character; and of the innermost open group the kind (0: there is none, then 1 to 3), how
many letters and digits it holds (up to 3), and what came last in it. Column TAIL is the row of the group around it."""


def start(x, table, states, s):
    for column in range(AT, WIDTH):
        states[s, column] = 0


def legal(x, table, states, s, out):
    at, count = states[s, AT], 0
    if at < x.shape[0] and x[at, 0] >= LETTER:
        out[0] = KEEP
        count = 1
    elif at < x.shape[0]:
        out[0] = DROP
        for kind in range(3):
            out[1 + kind] = OPEN + kind
        count = 4
    if states[s, KIND] > 0:
        out[count] = ADD_CLOSE
        count += 1
        if at < x.shape[0] and x[at, 0] < LETTER:
            out[count] = CLOSE
            count += 1
    return count


def advance(x, table, states, s, action, t):
    pops = action == CLOSE or action == ADD_CLOSE
    group = states[s, TAIL] if pops else s
    for column in range(KIND, WIDTH):
        states[t, column] = states[group, column]
    states[t, AT] = states[s, AT] + (action != ADD_CLOSE)
    if action >= OPEN:
        states[t, KIND] = 1 + action - OPEN
        states[t, LETTERS] = states[t, DIGITS] = states[t, LAST] = 0
    elif action == KEEP:
        states[t, LAST] = x[states[s, AT], 0]
        column = LETTERS if states[t, LAST] == LETTER else DIGITS
        states[t, column] = min(states[s, column] + 1, 3)
    elif pops:
        states[t, LAST] = states[s, KIND]


def atoms(x, table, states, s, out):
    at, around = states[s, AT], states[s, TAIL]
    for k in range(4):  # the character before, and three to come
        out[k] = x[at + k - 1, 0] if 0 <= at + k - 1 < x.shape[0] else 0
    for k in range(4):  # the innermost group, and the one around it
        out[4 + k] = states[s, KIND + k]
        out[8 + k] = states[around, KIND + k] if around >= 0 else 0
    out[12] = at


GROUP = {"kind": 4, "letters": 4, "digits": 4, "last": 9}
HOLDS = "in.kind|in.letters|in.digits"
PROBLEM = SearchProblem(
    name="brackets",
    actions=ACTIONS,
    width=WIDTH,
    start=start,
    legal=legal,
    advance=advance,
    atoms=atoms,
    atom_names={
        **dict.fromkeys(("c-1", "c0", "c1", "c2"), 9),
        **{f"{place}.{name}": size for place in ("in", "around") for name, size in GROUP.items()},
        "at": 0,
    },
    templates=[
        *("c0|c1", "c-1|c0", "c0|c1|c2", "in.kind|c0|c1", "in.kind|c-1|c0", "in.kind|in.last|c0|c1"),
        *("in.kind|around.kind|c0", "in.kind|around.kind|c0|c1|c2", f"{HOLDS}|c0", f"{HOLDS}|c0|c1"),
        *("in.kind|around.kind|around.last|c0", "in.kind|around.kind|around.letters|around.digits|c0"),
    ],
    always=["at"],  # after equally many actions, states can be at different characters: these are never one
    moves={"open (": 1, "open [": 1, "open {": 1, "close": -1, "add close": -1},
    max_steps=lambda n: 2 * n + 1,
)


def correct_text(rng, depth=0):
    kind, text = rng.randrange(3), ""
    for _ in range(rng.randint(2, 4)):
        text += rng.choice("123" if kind == 1 else "abc") + (rng.choice("123") if kind == 2 else "")
        text += correct_text(rng, depth + 1) if depth < 4 and rng.random() < 0.4 else ""
    return BRACKETS[kind] + text + BRACKETS[kind + 3]


def spoil(text, rng, noise):
    """The text with wrong, lost and superfluous brackets, and the actions that repair it."""
    spoilt, actions = "", []
    for c in text:
        place, chance = BRACKETS.find(c), rng.random() / noise
        action = "keep" if place < 0 else f"open {c}" if place < 3 else "close"
        if action == "close" and chance < 1 / 3:
            actions.append("add close")
            continue
        if action != "keep" and 1 / 3 <= chance < 2 / 3:
            c = rng.choice(BRACKETS[:3] if place < 3 else BRACKETS[3:])
        spoilt += c
        actions.append(action)
        if action != "keep" and 2 / 3 <= chance < 1:
            spoilt += rng.choice(BRACKETS)
            actions.append("drop")
    return spoilt, actions


def repaired(text, actions):
    """What the actions make of a text."""
    characters, stack, found = iter(text), [], ""
    for action in actions:
        c = next(characters) if action != "add close" else ""
        if action.startswith("open"):
            stack.append(action[-1])
        elif action.endswith("close"):
            c = BRACKETS[BRACKETS.index(stack.pop()) + 3]
        found += "" if action == "drop" else action[-1] if action.startswith("open") else c
    return found


def encode(text):
    return [BRACKETS.index(c) + 1 if c in BRACKETS else LETTER if c.isalpha() else DIGIT for c in text]


def main(size=800, noise=0.2):
    rng = Random(1)
    correct = [correct_text(rng) for _ in range(size + size // 2)]
    spoilt = [spoil(text, rng, noise) for text in correct]
    examples = [(encode(text), actions) for text, actions in spoilt]
    tests = list(zip(correct, (text for text, _ in spoilt), strict=True))[size:]
    damaged = sum(text != bad for text, bad in tests)
    print(f"{size} texts to learn from, {len(tests)} to test on, {100 * damaged / len(tests):.0f} % of them damaged")
    for beam, merge in ((1, True), (8, False), (8, True)):
        model = BeamLearner(PROBLEM, beam=beam, merge=merge, passes=4).fit(examples[:size])
        found = model.predict(x for x, _ in examples[size:])
        guess = [repaired(bad, actions) for (_, bad), actions in zip(tests, found, strict=True)]
        right = 100 * sum(text == own for (text, _), own in zip(tests, guess, strict=True)) / len(tests)
        print(f"beam {beam}{', merging' if merge and beam > 1 else '':9}  {right:5.1f} % repaired", flush=True)
    for (_, bad), own in list(zip(tests, guess, strict=True))[:5]:
        print(f"{bad}   →   {own}")


if __name__ == "__main__":
    main()
