"""Train a chunker on generated English, score it, use it, keep it."""

import structron
from structron.data.toy_english import toy_english


def rows(sentences):
    return [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in sentences]


train, dev, test = (rows(toy_english(n, seed)) for n, seed in ((1500, 1), (300, 2), (500, 3)))
model = structron.Chunker(columns=["word", "pos", "chunk"]).fit(train, dev=dev)
print(f"F1 {model.score(test):.2f} on {len(test)} sentences")

sentence = [(word, pos) for word, pos, _ in test[0]]
for (word, pos), label in zip(sentence, model.predict([sentence])[0], strict=True):
    print(f"{word:12} {pos:5} {label}")

model.save("chunker.structron")
assert structron.load("chunker.structron").predict([sentence]) == model.predict([sentence])
