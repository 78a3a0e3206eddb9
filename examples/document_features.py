"""A feature of your own over whole documents: names in brackets agree with the name before them.

In `New Brenstan Traders ( NBT )` the short name and the long one are the same firm; later sentences say `NBT` alone. No
feature of single words can know; a function of a document and a labelling of it can say so in a few lines.
"""

import random

from structron import Chunker, Document
from structron.text.schemes import spans

KINDS = {"ORG": ("Traders", "Works", "Mills"), "LOC": ("Bay", "Hills", "Fields"), "PER": ("Senior", "Junior", "Smith")}


def initials_agree(document, labels):
    """Count short names that have the class of a long name with these initials, and those that have another."""
    found = [(document[s][a:b], kind) for s, row in enumerate(labels) for kind, a, b in spans(row)]
    long = {"".join(word[0] for word in words): kind for words, kind in found if len(words) > 1}
    short = [(words[0], kind) for words, kind in found if len(words) == 1 and words[0] in long]
    return {
        "same": sum(kind == long[word] for word, kind in short),
        "other": sum(kind != long[word] for word, kind in short),
    }


def story(dice):
    """Two sentences: a long name whose last word shows its class, then its initials."""
    kind = dice.choice(list(KINDS))
    words = [dice.choice("ABCDEFGHJKLMNPRSTVW") + "el" + dice.choice(["da", "mo", "ri"]) for _ in range(2)]
    words.append(dice.choice(KINDS[kind]))
    short = "".join(word[0] for word in words)
    first = [
        ["We", "O"],
        ["saw", "O"],
        [words[0], f"B-{kind}"],
        *([word, f"I-{kind}"] for word in words[1:]),
        [".", "O"],
    ]
    return Document([first, [["Then", "O"], [short, f"B-{kind}"], ["changed", "O"], [".", "O"]]])


def main():
    dice = random.Random(3)
    train, test = [story(dice) for _ in range(300)], [story(dice) for _ in range(200)]
    options = {"templates": ["w[0]", "w[-1]", "w[1]", "class[0]"], "margin": 10, "runs": 1}
    for name, features in (("single words", []), ("documents too", [initials_agree])):
        model = Chunker(**options, non_local=features).fit(train)
        print(f"{name}: F1 {model.score(test):.2f}")
    for labels, score in model.nbest(test[:1], 3)[0]:
        words = [[row[0] for row in sentence] for sentence in test[0]]
        names = [f"{' '.join(words[k][a:b])} {kind}" for k, row in enumerate(labels) for kind, a, b in spans(row)]
        print(f"{score:8.1f}  {', '.join(names)}")


if __name__ == "__main__":
    main()
