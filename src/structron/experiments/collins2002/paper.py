"""Collins (2002): the paper's own figures."""

DEV: dict[str, dict[str, tuple[float, int]]] = {
    "np": {
        "Perc, avg, cc=0": (93.53, 13),
        "Perc, noavg, cc=0": (93.04, 35),
        "Perc, avg, cc=5": (93.33, 9),
        "Perc, noavg, cc=5": (91.88, 39),
        "ME, cc=0": (92.34, 900),
        "ME, cc=5": (92.65, 200),
    },
    "pos": {
        "Perc, avg, cc=0": (2.93, 10),
        "Perc, noavg, cc=0": (3.68, 20),
        "Perc, avg, cc=5": (3.03, 6),
        "Perc, noavg, cc=5": (4.04, 17),
        "ME, cc=0": (3.4, 100),
        "ME, cc=5": (3.28, 200),
    },
}
"""Figure 4: the best figure (F-measure of NP chunks, error rate of tags) and the number of iterations that gave it."""
TEST = {"np": {"Perc": 93.63, "ME": 93.29}, "pos": {"Perc": 2.89, "ME": 3.28}}
SAVED = {"np": 5.1, "pos": 11.9}
"""The errors of ME that the perceptron avoids on test data, in per cent (section 4.3)."""
