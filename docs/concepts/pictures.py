"""Draws the pictures of the concepts: `python docs/concepts/pictures.py [FOLDER]`. Nothing in them is from a corpus."""

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

INK, GREY, RIGHT, WRONG, BEST = "#333333", "#9a9a9a", "#00796b", "#c62828", "#5c6bc0"


class Picture:
    """Shapes in the order in which they are drawn."""

    def __init__(self, width: int, height: int, title: str):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
            'font-family="sans-serif" font-size="15">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        ]

    def text(self, x: float, y: float, text: str, fill: str = INK, anchor: str = "middle", size: int = 15) -> None:
        """Words."""
        how = f'x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}" font-size="{size}"'
        self.parts.append(f"<text {how}>{escape(text)}</text>")

    def line(
        self, points: Sequence[tuple[float, float]], stroke: str = GREY, width: float = 1.5, dash: str = ""
    ) -> None:
        """A line through points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="{width:g}"{dashed}/>')

    def box(self, x: float, y: float, width: float, height: float, stroke: str = GREY, fill: str = "#ffffff") -> None:
        """A box with round corners."""
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"'
        self.parts.append(f'<rect {place} fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>')

    def node(self, x: float, y: float, text: str, stroke: str = GREY) -> None:
        """A label in a box."""
        self.box(x - 26, y - 15, 52, 30, stroke)
        self.text(x, y + 5, text, stroke if stroke != GREY else INK)

    def svg(self) -> str:
        """The picture as a file."""
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def trellis() -> Picture:
    """Words with their possible tags; the right path and the one that the model prefers."""
    picture = Picture(640, 300, "A trellis of tags with the right and the predicted path")
    words, tags = ["the", "old", "man", "the", "boats"], ["DET", "NOUN", "VERB"]
    right, guess = [0, 1, 2, 0, 1], [0, 1, 1, 0, 1]
    place = {(i, t): (90 + 115 * i, 80 + 60 * t) for i in range(5) for t in range(3)}
    for i in range(4):
        for a in range(3):
            for b in range(3):
                picture.line([place[i, a], place[i + 1, b]], "#dddddd", 1)
    picture.line([place[i, t] for i, t in enumerate(guess)], WRONG, 4)
    picture.line([place[i, t] for i, t in enumerate(right)], RIGHT, 3, "7 4")
    for (i, t), (x, y) in place.items():
        on = RIGHT if right[i] == t else WRONG if guess[i] == t else GREY
        picture.node(x, y, tags[t], on)
    for i, word in enumerate(words):
        picture.text(90 + 115 * i, 40, word, size=17)
    picture.text(40, 265, "features of the right path: +1", RIGHT, "start")
    picture.text(600, 265, "features of the predicted path: −1", WRONG, "end")
    return picture


def search() -> Picture:
    """A beam that loses the right hypothesis, and starts again from it."""
    picture = Picture(640, 330, "Learning as search optimisation: the search goes on from the right hypothesis")
    columns = [["·"], ["B", "I", "O"], ["B I", "B B", "O B"], ["B I O", "B I B", "B B O"]]
    xs = [60, 190, 330, 480]
    for k, names in enumerate(columns):
        for row, name in enumerate(names):
            y = 80 + 60 * row
            good = (k, row) in {(0, 0), (1, 2), (2, 2)}
            picture.box(xs[k] - 34, y - 15, 68, 30, RIGHT if good else GREY)
            picture.text(xs[k], y + 5, name, RIGHT if good else INK)
    for k, (a, b) in [
        (0, (0, 0)),
        (0, (0, 1)),
        (0, (0, 2)),
        (1, (0, 0)),
        (1, (0, 1)),
        (1, (2, 2)),
        (2, (0, 0)),
        (2, (0, 1)),
        (2, (1, 2)),
    ]:
        picture.line([(xs[k] + 34, 80 + 60 * a), (xs[k + 1] - 34, 80 + 60 * b)], RIGHT if b == 2 and k < 2 else GREY)
    picture.box(446, 255, 68, 30, RIGHT, "#e0f2f1")
    picture.text(480, 275, "O B I", RIGHT)
    picture.line([(364, 200), (446, 262)], RIGHT, 2, "5 4")
    picture.text(480, 40, "nothing right is left", WRONG)
    picture.text(560, 268, "update,", RIGHT, "start", 14)
    picture.text(560, 286, "go on here", RIGHT, "start", 14)
    for x, step in zip(xs, ("start", "step 1", "step 2", "step 3"), strict=True):
        picture.text(x, 315, step, GREY, size=13)
    return picture


def documents() -> Picture:
    """Two sentences, the same name, and candidates that are chosen among."""
    picture = Picture(640, 300, "Candidates for a document are ranked again by features of the whole document")
    picture.text(30, 45, "We saw New Brenstan Traders .", INK, "start", 17)
    picture.text(30, 95, "Then NBT changed .", INK, "start", 17)
    picture.line([(88, 76), (150, 52)], RIGHT, 2)
    picture.text(250, 95, "the initials of a name above", RIGHT, "start", 14)
    picture.text(30, 145, "candidates", GREY, "start", 13)
    picture.text(330, 145, "words", GREY, size=13)
    picture.text(440, 145, "document", GREY, size=13)
    picture.text(560, 145, "together", GREY, size=13)
    rows = [("New Brenstan Traders ORG, NBT LOC", "21.3", "−4.0", "17.3", INK)]
    rows += [("New Brenstan Traders ORG, NBT ORG", "20.1", "+4.0", "24.1", RIGHT)]
    rows += [("New Brenstan Traders PER, NBT PER", "12.6", "+4.0", "16.6", INK)]
    for k, (name, local, whole, both, color) in enumerate(rows):
        y = 180 + 38 * k
        if color == RIGHT:
            picture.box(20, y - 22, 600, 32, RIGHT, "#e0f2f1")
        picture.text(30, y, name, color, "start", 14)
        picture.text(330, y, local, color)
        picture.text(440, y, whole, color)
        picture.text(560, y, both, color)
    return picture


def violations() -> Picture:
    """How the best prefix and the right one score along a sentence, and where rules update."""
    picture = Picture(640, 360, "Scores of the best and of the right prefix, and where each rule updates")
    best = [0, 30, 52, 90, 128, 150, 172, 182]
    gold = [0, 30, 44, 60, 76, 122, 160, 196]
    xs = [70 + 72 * k for k in range(8)]
    ys = {"best": [290 - y for y in best], "gold": [290 - y for y in gold]}
    picture.line([(60, 300), (600, 300)], GREY)
    picture.text(600, 322, "words read", GREY, "end", 13)
    picture.line(list(zip(xs, ys["best"], strict=True)), BEST, 3)
    picture.line(list(zip(xs, ys["gold"], strict=True))[:4], RIGHT, 3)
    picture.line(list(zip(xs, ys["gold"], strict=True))[3:], RIGHT, 3, "6 5")
    marks = {3: "early", 4: "max-violation", 6: "latest", 7: "standard"}
    for k, name in marks.items():
        color = WRONG if name == "standard" else INK
        picture.line([(xs[k], ys["best"][k]), (xs[k], ys["gold"][k])], color, 2)
        picture.text(xs[k] - 4, min(ys["best"][k], ys["gold"][k]) - 12, name, color, "end", 14)
    picture.text(80, 30, "best prefix in the beam", BEST, "start")
    picture.text(80, 52, "right prefix (dashed: fallen off the beam)", RIGHT, "start")
    picture.text(
        80, 345, "At the end the right one scores higher: a standard update would be no violation.", WRONG, "start", 14
    )
    return picture


def mixtures() -> Picture:
    """A wrong output taken apart into outputs that are wrong in one place."""
    picture = Picture(640, 300, "A wrong tree taken apart into mixtures with one mistake each")
    words = ["the", "old", "man", "the", "boats"]
    rows = [("right", [0, 0, 0, 0, 0], RIGHT), ("predicted", [0, 1, 1, 0, 1], WRONG)]
    rows += [(f"mixture {k + 1}", [int(i == place) for i in range(5)], INK) for k, place in enumerate((1, 2, 4))]
    labels = [["D", "N", "V", "D", "N"], ["D", "A", "N", "D", "V"]]
    for i, word in enumerate(words):
        picture.text(180 + 70 * i, 35, word, size=16)
    for r, (name, wrong, color) in enumerate(rows):
        y = 75 + 45 * r
        picture.text(120, y + 5, name, color, "end")
        for i, bad in enumerate(wrong):
            picture.node(180 + 70 * i, y, labels[bad][i], WRONG if bad else RIGHT)
    picture.text(590, 40, "weight", GREY, size=13)
    for r, weight in enumerate(("0.2", "0.7", "0.1")):
        picture.text(590, 170 + 45 * r, weight, INK)
    return picture


PICTURES = {
    "collins2002.svg": trellis,
    "daume2005.svg": search,
    "kazama2007.svg": documents,
    "huang2012.svg": violations,
    "dror2016.svg": mixtures,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    for name, draw in PICTURES.items():
        (folder / name).write_text(draw().svg(), encoding="utf-8")
