"""Criteria, paired held-out errors, and the words that are made of them."""

import math

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.model_comparison import (
    FitFigures,
    information_criteria,
    paired_ratio,
    verdict,
)


def test_criteria_count_independent_residuals_of_the_best_fit():
    fits = {"a": FitFigures(90.0, 1000, 50.0, 2), "b": FitFigures(110.0, 1000, 400.0, 2)}
    found, n = information_criteria(fits)
    assert n == 50.0 and found["a"].aic == found["a"].bic == 0.0
    assert found["b"].aic == pytest.approx(50 * math.log(110 / 90))
    assert found["a"].weight + found["b"].weight == pytest.approx(1.0)


def test_a_parameter_that_gains_nothing_costs():
    fits = {"few": FitFigures(100.0, 100, 40.0, 2), "many": FitFigures(99.9, 100, 40.0, 4)}
    found, _ = information_criteria(fits)
    k = (3, 5)
    terms = [2 * j + 2 * j * (j + 1) / (40 - j - 1) for j in k]
    assert found["many"].aic == pytest.approx(40 * math.log(0.999) + terms[1] - terms[0])
    assert found["many"].bic == pytest.approx(40 * math.log(0.999) + 2 * math.log(40))
    assert found["few"].weight > 0.9
    with pytest.raises(InputError, match="independent residuals"):
        information_criteria({"few": FitFigures(1.0, 100, 3.5, 2)})


def test_paired_ratios():
    a, b = np.array([4.0, 4.4, 3.6, 4.0]), np.ones(4)
    found = paired_ratio(a, b, 0.0)
    assert found.ratio == pytest.approx(math.exp(np.mean(0.5 * np.log(a))))
    assert 1.8 < found.low < found.ratio < found.high < 2.2 and found.clear
    assert found.trials == 4 and found.better == 0
    wider = paired_ratio(a, b, 1 / 3)
    spread = math.log(wider.high / wider.ratio) / math.log(found.high / found.ratio)
    assert spread == pytest.approx(math.sqrt((1 / 4 + 1 / 3) * 4))
    one = paired_ratio([4.0, math.nan], [1.0, 1.0], 0.0)
    assert one.trials == 1 and math.isnan(one.low) and not one.clear
    with pytest.raises(InputError, match="both models predict"):
        paired_ratio([math.nan], [1.0], 0.0)


def test_coverage_of_paired_intervals():
    """Equal models are distinguished in about 5 % of the cases, not more."""
    generator, wrong = np.random.default_rng(0), 0
    for _ in range(400):
        pair = paired_ratio(*np.exp(generator.normal(size=(2, 6))), 0.0)
        wrong += pair.clear
    assert 5 <= wrong <= 35


def held_out(x, y):
    """Mean square error of every trial (2, K) under y = b x_j, fitted to the others."""
    K, squares = y.shape[0], np.zeros((2, y.shape[0]))
    for k in range(K):
        rest = np.arange(K) != k
        for j in range(2):
            b = np.sum(x[j, rest] * y[rest]) / np.sum(x[j, rest] ** 2)
            squares[j, k] = np.mean((y[k] - b * x[j, k]) ** 2)
    return squares


def test_two_models_that_are_wrong_alike_are_rarely_told_apart():
    """Truth x_0 + x_1, models b x_0 and b x_1: at most the 5 % that the interval allows."""
    generator, wrong, plain = np.random.default_rng(1), 0, 0
    for _ in range(400):
        x = generator.normal(size=(2, 6, 3))
        squares = held_out(x, x.sum(axis=0) + 0.3 * generator.normal(size=(6, 3)))
        wrong += paired_ratio(*squares, 1 / 5).clear
        plain += paired_ratio(*squares, 0.0).clear
    assert wrong <= 15 and 8 <= plain <= 40


SQUARES = {"a": [1.0, 1.1, 0.9, 1.0, 1.0], "b": [4.0, 4.2, 3.9, 4.1, 4.0]}


def criteria_of(**square):
    fits = {name: FitFigures(s, 500, 100.0, 2) for name, s in square.items()}
    return information_criteria(fits)[0]


def test_verdicts_in_words():
    best, pairs, words = verdict(SQUARES, 0.25, criteria_of(a=500, b=2000))
    assert best == "a" and pairs["b"].clear and words[0].startswith("the data support a")
    assert "2.0" in words[1] and "0 of 5" in words[1]
    mixed = {"a": [1.0, 2.0, 0.5, 1.0, 3.0], "b": [2.0, 1.0, 1.0, 0.5, 3.1]}
    best, pairs, words = verdict(mixed, 0.25, criteria_of(a=500, b=510))
    assert "do not distinguish the models" in words[0] and len(words) == 2
    _, _, words = verdict(mixed, 0.25, criteria_of(a=500, b=1500))
    assert "held-out trials do not confirm" in words[-1] and "prefers a" in words[-1]
    _, _, words = verdict(SQUARES, 0.25, criteria_of(a=1000, b=500))
    assert "but b fits its own data better" in words[-1]


def test_three_models():
    squares = {**SQUARES, "c": [1.05, 1.0, 1.0, 0.95, 1.05]}
    _, pairs, words = verdict(squares, 0.25, criteria_of(a=500, b=2000, c=500))
    assert "do not distinguish" in words[0] and "against b" in words[0] and len(pairs) == 2


def test_without_held_out_trials_the_fit_alone_speaks():
    best, pairs, words = verdict({"a": [], "b": []}, 0.0, criteria_of(a=500, b=2000))
    assert best == "a" and not pairs and words[0].startswith("the data support a, by AIC alone")
    assert "three trials" in words[0]
    best, pairs, words = verdict({"a": [1.0], "b": [9.0]}, 0.0, criteria_of(a=500, b=2000))
    assert best == "a" and words[0].startswith("the data support a") and "3 times" in words[1]
    _, _, words = verdict({"a": [9.0], "b": [1.0]}, 0.0, criteria_of(a=500, b=2000))
    assert "do not distinguish b and a: AIC prefers a" in words[0]
    _, _, words = verdict({"a": [math.nan], "b": [1.0]}, 0.0, criteria_of(a=500, b=505))
    assert "do not distinguish a and b" in words[0]
