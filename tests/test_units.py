"""Numbers with units: factors, dimensions, and what is refused."""

import math

import pytest

from diffsim_ros.units import read_number


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1.5 mm", "m", 0.0015),
        ("20 g", "kg", 0.02),
        ("2 GPa", "Pa", 2e9),
        ("-90 deg", "rad", -math.pi / 2),
        ("-90°", "rad or m", -math.pi / 2),
        ("60 rpm", "rad/s", 2 * math.pi),
        ("1 rad", "deg", 180 / math.pi),
        ("1/480", "s", 1 / 480),
        ("1/2 ms", "s", 0.0005),
        ("1e-3s", "s", 0.001),
        ("3 g/cm^3", "kg/m^3", 3000),
        ("5 mN/mm", "N/m", 5),
        ("2 kN", "N m or N", 2000),
        ("3 kg*m2", "kg m^2", 3),
        ("4 N m/deg", "N m/rad", 720 / math.pi),
        ("7 1/s", "Hz", 7),
        ("25 %", "1", 0.25),
        ("0.37 [kg]", "kg", 0.37),
        ("3 sigma", "sigma", 3),
        ("1 bar", "Pa", 1e5),
        ("2 µm", "m", 2e-6),
    ],
)
def test_values(text, unit, value):
    assert read_number(text, unit) == (pytest.approx(value, rel=1e-15), not text.endswith("480"))


def test_decimal_prefixes_round_once():
    for n in range(1, 2000):
        assert read_number(f"{n} mm", "m")[0] == n / 1000


@pytest.mark.parametrize(
    ("text", "unit", "reason"),
    [
        ("5 m", "kg", "m is no unit of this key; it has kg"),
        ("5 N m", "N m/rad", "it has N m/rad"),  # an angle is a dimension here
        ("5 kg", "", "it has none"),
        ("5 deg", "m", "it has m"),
        ("5 lb", "kg", "lb is no known unit"),
        ("5 kg/m s", "kg/m", "one symbol after each /"),
        ("5 m/", "m", "one symbol after each /"),
        ("0x10", "m", "x10 is no known unit"),
        ("nan", "m", ""),
        ("1/0", "m", ""),
        ("1e", "m", ""),
        ("", "m", ""),
        ("1." + "1" * 10**6, "m", ""),
    ],
)
def test_what_is_no_number_of_the_unit(text, unit, reason):
    with pytest.raises(ValueError) as caught:
        read_number(text, unit)
    assert reason in str(caught.value)
