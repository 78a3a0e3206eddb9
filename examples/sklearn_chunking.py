"""Chunking with features of your own and scikit-learn's tools: choose the parameters by cross-validation, then test.

python examples/sklearn_chunking.py
"""

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from structron.data.toy_english import toy_english
from structron.eval.scores import chunk_scores
from structron.sklearn import SequenceLabeler


def features(words, tags, i):
    """What is known of a word: strings, yes or no, numbers, lists; a dict within the dict for each neighbour."""
    word = words[i]
    found = {"bias": 1.0, "word": word, "tag": tags[i], "capital": word[0].isupper(), "length": len(word) / 10}
    found["suffix"] = [word[-n:] for n in (2, 3) if len(word) > n]
    for step in (-1, 1):
        if 0 <= i + step < len(words):
            found[f"{step:+d}"] = {"word": words[i + step], "tag": tags[i + step]}
    return found


def featurize(sentences):
    return [[features(s.words, s.pos, i) for i in range(len(s.words))] for s in sentences]


sentences = toy_english(1000, seed=7)
train, test = sentences[:800], sentences[800:]
model = make_pipeline(FunctionTransformer(featurize), SequenceLabeler(constrain=True, random_state=1))
parameters = {"sequencelabeler__order": [1, 2], "sequencelabeler__passes": [2, 10]}
search = GridSearchCV(model, parameters, cv=3).fit(train, [s.chunks for s in train])

print(f"best parameters: {search.best_params_}, accuracy in cross-validation {100 * search.best_score_:.2f}")
predicted = search.predict(test)
print(f"test accuracy {100 * search.score(test, [s.chunks for s in test]):.2f}")
print(f"test F1 {chunk_scores([s.chunks for s in test], predicted).f1:.2f}")
labels, margins = search.best_estimator_[-1].predict_with_margins(featurize(test[:1]))
for word, label, margin in zip(test[0].words, labels[0], margins[0], strict=True):
    print(f"{word:15}{label:8}{margin:7.1f}")
