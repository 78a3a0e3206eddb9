"""Options by themselves: values that cannot be, defaults that follow from others, and what classes make of fields."""

import math
from typing import ClassVar

import numpy as np
import pytest

from structron.errors import StructronError
from structron.fields import DEFAULT, Option, Options, choice, default_of, options, options_of, real, switch, whole
from structron.options import Search, Searching, Stepping
from structron.update.swvp import Swvp


@options()
class Base(Options):
    """A few options."""

    passes: int = whole("Passes.", default=3)
    share: float | None = real("Share.", default=None, above=0, most=1, metavar="X", none="none")
    kind: str = choice("Kind.", ("one", "two"), default="one")
    loud: bool = switch("Loud.", default=False)


@options({"passes": 5, "share": DEFAULT})
class Derived(Base):
    """The same with other defaults."""

    more: int = whole("More.", default=0, least=0)


def test_a_class_is_made_of_its_fields():
    assert Derived().get_params() == {"passes": 5, "share": DEFAULT, "kind": "one", "loud": False, "more": 0}
    assert Base().get_params() == {"passes": 3, "share": None, "kind": "one", "loud": False}
    assert (default_of(Base, "passes"), default_of(Derived, "passes")) == (3, 5)
    assert list(options_of(Derived)) == ["passes", "share", "kind", "loud", "more"]
    assert "passes: Passes." in Derived.__doc__
    with pytest.raises(TypeError):
        Derived(5)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"passes": 0}, "passes: 0; expected a whole number of at least 1"),
        ({"passes": True}, "passes: True; expected a whole number"),
        ({"passes": 2.0}, r"passes: 2\.0; expected a whole number"),
        ({"passes": None}, "passes: None; expected a whole number"),
        ({"passes": DEFAULT}, "passes: 'default'; expected a whole number"),
        ({"share": 0}, "share: 0; expected a number above 0 and at most 1, or None"),
        ({"share": math.nan}, "share: nan; expected a number above 0"),
        ({"share": "much"}, "share: 'much'; expected a number above 0"),
        ({"kind": "three"}, "unknown kind 'three'; expected one of: one, two"),
        ({"loud": "yes"}, "loud: 'yes'; expected True or False"),
        ({"loud": 2}, "loud: 2; expected True or False"),
    ],
    ids=str,
)
def test_values_that_cannot_be(given, says):
    with pytest.raises(StructronError, match=says):
        Base(**given).check_options()


def test_values_that_can():
    Base(passes=np.int64(2), share=np.float32(0.5), loud=1).check_options()
    Base(share=1).check_options()
    Derived().check_options()


def test_texts_of_the_command_line():
    number, share = options_of(Base)["passes"], options_of(Base)["share"]
    assert (number.read("007"), share.read("1e-3"), share.read("none")) == (7, 0.001, None)
    for option, text in ((number, "0"), (number, "2.5"), (number, "none"), (share, "nan"), (share, "2"), (share, "x")):
        with pytest.raises(StructronError, match=f"^{text}: expected a"):
            option.read(text)
    with pytest.raises(StructronError, match="c: expected one of: a, b"):
        Option("", choices=("a", "b")).read("c")


# -- what is settled by other options --------------------------------------------------------------------------------


@options({"alma": DEFAULT, "margin": DEFAULT, "update": DEFAULT, "beam": DEFAULT})
class Settled(Searching):
    """A task with usual values of its own."""

    task_defaults: ClassVar = {"alma": 0.9, "update": "laso", "beam": 10}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"alma": 0.9, "update": "laso", "beam": 10}),
        ({"margin": 5.0}, {"margin": 5.0, "update": "laso", "beam": 10}),
        ({"alma": None}, {"update": "laso", "beam": 10}),
        ({"swvp": "b-wm"}, {"swvp": Swvp("b-wm"), "update": "max-violation", "beam": 10}),
        ({"alma": None, "update": "early", "beam": None}, {"update": "early", "beam": None}),
        ({"merge": False, "check": True}, {"alma": 0.9, "update": "laso", "beam": 10, "merge": False, "check": True}),
    ],
    ids=str,
)
def test_defaults_follow_from_other_options(given, expected):
    assert Settled(**given).search() == Search(**expected)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"margin": 5, "alma": 0.5}, r"margin 5 and alma 0\.5: expected one of the two"),
        ({"update": "erly"}, "unknown update 'erly'"),
        (
            {"swvp": "a-wm", "update": "laso"},
            "swvp: a-wm cannot be combined with update laso; expected any update",
        ),
        ({"swvp": "a-wm", "alma": 0.9, "update": "early"}, r"swvp: a-wm cannot be combined with alma 0\.9"),
        ({"swvp": "a-wm", "margin": 2.0}, r"swvp: a-wm cannot be combined with margin 2\.0"),
    ],
    ids=str,
)
def test_what_does_not_go_together(given, says):
    with pytest.raises(StructronError, match=says):
        Settled(**given).search(learning=True)


def test_a_loaded_model_searches_without_the_functions_that_taught_it():
    """A file keeps the names of a user's rule and sub-structures: enough to predict, not to learn."""
    given = Settled(update="my_rule", swvp="a-wm", jj="my_parts", beam=4)
    assert (given.search().beam, given.search().merge) == (4, True)
    with pytest.raises(StructronError, match="jj: 'my_parts'"):
        given.search(learning=True)


def test_names_of_updates_and_searches():
    names = {
        "laso": Search(update="laso"),
        "laso-alma-0.9": Search(update="laso", alma=0.9),
        "early-alma-0.5": Search(update="early", alma=(0.5, 2.0, 1.4)),
        "max-violation-margin-500": Search(update="max-violation", margin=500.0),
        "early-margin-0": Search(update="early", margin=0.0),
        "swvp-b-wm-1-errors": Search(swvp=Swvp("b-wm")),
        "early-swvp-b-wm-1-errors": Search(update="early", swvp=Swvp("b-wm")),
    }
    assert {search.rule: search for search in names.values()} == names
    assert [str(Search(8)), str(Search(None, merge=False))] == ["beam-8-dp", "beam-inf"]
    assert (Search().exact, Search(4).exact, Search(alma=0.9).exact) == (True, False, False)


def test_weighted_violations_come_with_their_parameters():
    assert Stepping().steps() == Search()
    assert Stepping(swvp="a-wmr", beta=2.0, jj="spans").steps().swvp == Swvp("a-wmr", 2.0, "spans")
