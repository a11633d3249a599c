"""A tenth of the study of hard contact."""

from validation import hard_contact


def test_a_tenth_of_the_study():
    figures = hard_contact.study(fraction=0.1, seed=3)
    assert figures["derivatives"]["scenes_with_contact"] >= 8
    assert figures["contact_problems"]["compared_with_differences"] >= 60
    stops = figures["beside_penalties"]
    gaps = [abs(stops[f"k_n_{k}"]["stops_at_penalty"] - stops["closed_form"])
            for k in ("2000", "20000", "200000")]  # fmt: skip
    assert gaps[2] < gaps[0]
    # a landing has the motion's own derivative, a bounce with restitution that of the steps
    landing = figures["events"]["restitution_0.0"]
    assert max(abs(s - landing["motion"]) for s in landing["discrete"]) < 1e-6
