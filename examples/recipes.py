"""Generated recipes in which dishes can be labelled: a text for the tutorial of `structron teach`.

python examples/recipes.py recipes.txt [SENTENCES]      the text, and recipes.gold.conll with the right labels
"""

import random
import sys
from pathlib import Path

STYLES = [
    "pad",
    "tom",
    "miso",
    "coq",
    "boeuf",
    "gado",
    "nasi",
    "pollo",
    "sopa",
    "pho",
    "biryani",
    "ragù",
    "laksa",
    "mole",
]
SECOND = [
    "thai",
    "yum",
    "ramen",
    "au vin",
    "bourguignon",
    "goreng",
    "verde",
    "bo",
    "negro",
    "alla norma",
    "tikka",
    "de lima",
]
PLAIN = [
    "lasagne",
    "moussaka",
    "goulash",
    "borscht",
    "paella",
    "shakshuka",
    "ceviche",
    "kimchi",
    "risotto",
    "pierogi",
    "tagine",
]
MADE = [
    "onion soup",
    "apple pie",
    "fish stew",
    "lentil curry",
    "plum cake",
    "potato salad",
    "walnut bread",
    "pumpkin soup",
]
FOOD = ["onions", "rice", "lemons", "chickpeas", "tomatoes", "noodles", "basil", "lentils", "walnuts", "cream"]
PEOPLE = ["Ann", "Bruno", "Chidi", "Dora", "Emeka", "Farah", "Goran", "Hana"]
TOOLS = ["pan", "pot", "bowl", "oven", "wok"]
FRAMES = [
    "For {dish} chop the {food} and heat the {tool} .",
    "{person} cooked {dish} for twelve guests .",
    "Nobody makes {dish} like {person} does .",
    "Serve the {dish} with {food} and {food} .",
    "Add the {food} to the {tool} and stir for ten minutes .",
    "{person} says that {dish} needs more {food} than {dish} .",
    "Wash the {food} , then cover the {tool} .",
    "Leftover {dish} keeps for two days .",
    "My grandmother 's {dish} was better than the {dish} in that restaurant .",
    "Put the {tool} away and wait for {person} .",
    "The {food} should be soft before the {dish} goes into the oven .",
    "Can you eat {dish} without {food} ?",
]


def dish(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.4:
        return f"{rng.choice(STYLES)} {rng.choice(SECOND)}"
    return rng.choice(PLAIN if kind < 0.75 else MADE)


def recipes(count: int, seed: int = 1) -> list[list[tuple[str, str]]]:
    """Sentences of words with their labels."""
    rng, found = random.Random(seed), []
    for _ in range(count):
        rows: list[tuple[str, str]] = []
        for word in rng.choice(FRAMES).split():
            if word == "{dish}":
                rows += [(own, "I-DISH" if k else "B-DISH") for k, own in enumerate(dish(rng).split())]
            else:
                chosen = {"{food}": FOOD, "{person}": PEOPLE, "{tool}": TOOLS}.get(word, [word])
                rows.append((rng.choice(chosen), "O"))
        found.append(rows)
    return found


def main(path: str = "recipes.txt", count: str = "400") -> None:
    made = recipes(int(count))
    lines = [" ".join(word for word, _ in rows) for rows in made]
    text = "\n".join(lines).replace(" .", ".").replace(" ,", ",").replace(" ?", "?").replace(" 's", "'s")
    Path(path).write_text(text + "\n", encoding="utf-8")
    columns = ("".join(f"{word}\t{label}\n" for word, label in rows) for rows in made)
    Path(path).with_suffix(".gold.conll").write_text("\n".join(columns), encoding="utf-8")
    print(f"{path}: {len(made)} sentences, {sum(label == 'B-DISH' for rows in made for _, label in rows)} dishes")


if __name__ == "__main__":
    main(*sys.argv[1:])
