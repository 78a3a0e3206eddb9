"""How the heaviest features of a model are printed."""

import structron
from structron.model.heaviest import NAMELESS, Heaviest, Weight


def test_features_without_a_name_are_left_out():
    found = Heaviest(
        {"A": [Weight("", "A", 3.0), Weight("w[0]=x", "A", 1.5)], "B": [Weight("", "B", 2.0)], "C": []},
        [Weight("y[-1]=A", "B", -1.0)],
    )
    lines = ["A", "      1.5000  w[0]=x", "", "label pairs", "     -1.0000  y[-1]=A → B", "", NAMELESS]
    assert str(found).splitlines() == lines
    assert found.nameless
    assert list(found.groups()) == ["A", "label pairs"]


def test_a_label_without_features_is_named():
    found = Heaviest({"A": [Weight("w[0]=x", "A", 1.5)], "C": []})
    assert str(found).splitlines() == ["A", "      1.5000  w[0]=x", "", "C"]


def test_the_bundled_tagger_shows_what_has_a_name():
    found = structron.load("english").part("tagger").inspect("NOUN", top=2)
    assert str(found).splitlines()[0] == "label pairs"
    assert str(found).splitlines()[-1] == NAMELESS
