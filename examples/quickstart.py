"""Analyse English text with the bundled model; train a chunker on generated English, score it, use it, keep it."""

import structron
from structron.data.toy_english import toy_english

nlp = structron.load("english")
doc = nlp("Dr. Smith didn't sleep. He flew to Paris.")
for word in doc.sentences[1].words:
    print(f"{word.form:8}{word.lemma:8}{word.upos:7}{word.head} {word.deprel:7}{word.start}-{word.end}")
print(*(f"{entity.text} ({entity.label})" for entity in doc.entities))

corpora = toy_english(1500), toy_english(500, seed=3)
train, test = ([list(zip(s.words, s.pos, s.chunks, strict=True)) for s in corpus] for corpus in corpora)
model = structron.Chunker(columns=["word", "pos", "chunk"]).fit(train)
print(f"F1 {model.score(test):.2f} on {len(test)} sentences")
print(model.predict([[("A", "DT"), ("dog", "NN"), ("barks", "VBZ")]]))
model.save("chunker.structron")
