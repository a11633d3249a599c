"""A tenth of the study of what the onset buys; full: ./run validate onset_gain."""

from validation.onset_gain import ONSETS, QUICK, study


def test_plans_are_reached_with_fewer_rollouts():
    figures = study(0.1)
    assert set(figures["plans"]) == set(QUICK)
    ours, sampled = (figures["plans"]["throw_one_bounce"][onset] for onset in ONSETS)
    assert ours["reached"] == ours["starts"] == 2
    assert ours["at_kinks"] == 0
    assert ours["rollouts"] < sampled["rollouts"]
    assert figures["total"]["integrated"]["reached"] == 4
