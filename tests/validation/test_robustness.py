"""A seeded tenth of the random drops of validation/robustness.py."""

from validation.robustness import drop, study


def test_a_tenth_of_the_drops_converges_as_asked():
    figures = study(fraction=0.1, seed=1)
    assert figures["drops"] == 100


def test_drops_differ_and_repeat():
    (s, step, kind), (again, same, _) = drop(3), drop(3)
    assert step == same
    assert (s.values == again.values).all()
    assert kind == "mixed"
    assert drop(4)[1] != step
