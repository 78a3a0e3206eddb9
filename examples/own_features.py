"""Your own features: templates, a function of the sentence, and a list of phrases, for a recogniser of names."""

import structron
from structron.data.toy_english import toy_english
from structron.features.gazetteer import Gazetteer


def last_of_run(sentence, i):
    """The last word of the run of capitalised words that a word stands in ("City" for "Port" in "Port Alden City").

    Any function of (sentence, position) that returns a text can be an atom.
    """
    if not sentence[i][0][0].isupper():
        return "none"
    while i + 1 < len(sentence) and sentence[i + 1][0][0].isupper():
        i += 1
    return sentence[i][0]


def rows(sentences):
    return [list(zip(s.words, s.pos, s.entities, strict=True)) for s in sentences]


train, test = rows(toy_english(1500, seed=1)), rows(toy_english(500, seed=2))
titles = Gazetteer.from_phrases("title", ["Mr.", "Mrs.", "Dr.", "President", "Prime Minister"])
plain = ["w[0]", "w[-1]", "w[1]", "class[0]", "suffix3[0]", "pos[-1]|pos[0]", "pos[0]|pos[1]"]

for name, options in {
    "templates": {},
    "templates + titles": {"gazetteers": {"title": titles}},
    "templates + titles + own function": {"gazetteers": {"title": titles}, "atoms": {"last": last_of_run}},
}.items():
    model = structron.Chunker(templates=plain, order=2, passes=8, **options).fit(train)
    print(f"{name:34} F1 {model.score(test):.2f}")
