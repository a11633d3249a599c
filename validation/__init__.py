"""The full studies behind the published figures: `./run validate [ITEM...]`.

Each study is `study(fraction, seed) -> dict of figures`; it raises AssertionError with the figures
when a bar is missed. The tests run a seeded tenth of each (fraction = 0.1).
"""
