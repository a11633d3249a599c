"""Words and tables of every estimation's page, from an EstimationResult; no HTML here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.viz.fit_plots import ParameterRow, with_sigma

DASH = "–"
STRONG = 0.9  # a correlation beyond it is shown as such
Rows = Sequence[ParameterRow]


def card(
    label: str, value: str, unit: str = "", detail: str = "", tone: str = "blue"
) -> dict[str, str]:
    """Return one headline figure of a page; tone "good", "bad" or "blue"."""
    return {"label": label, "value": value, "unit": unit, "detail": detail, "tone": tone}


def parameter_rows(result: Any) -> tuple[Rows, Rows]:
    """The parameters that were estimated, and those that were held, with prior and first guess."""
    options = result.config.get("parameters") or {}
    found: tuple[list, list] = [], []
    for p in result.parameters:
        option = options.get(p.name) or {}
        row = ParameterRow(
            p.name, p.unit, float(p.value), p.std_dev, p.lower, p.upper,
            option.get("prior_mean"), option.get("prior_sigma"), option.get("value", p.start),
            p.identifiable, p.at_bound, p.note or str(option.get("doc", "") or ""),
            str(getattr(p, "bound", None) or ""),
        )  # fmt: skip
        found[p.fixed].append(row)
    return found


def warnings(result: Any, rows: Rows) -> list[str]:
    """Sentences that a reader must not miss, the gravest first."""
    found = []
    if result.status != "converged":
        found.append(
            f"The estimation ended as “{result.status.replace('_', ' ')}”: "
            "the parameters are the best so far."
        )
    for row in rows:
        if row.bound:
            found.append(f"{row.name} is known from one side only: {row.bound}.")
            continue
        if row.at_bound:
            found.append(f"{row.name} ended at a bound; its true value may lie beyond.")
        if not row.identifiable:
            reason = f": {row.note}" if row.note else "."
            found.append(f"{row.name} cannot be identified from these data{reason}")
    return found


def parameter_table(rows: Rows, held: Rows) -> list[dict[str, Any]]:
    """Return rows for the table of parameters, estimated ones first, then held ones."""
    found = []
    for row, fixed in [*((row, False) for row in rows), *((row, True) for row in held)]:
        tone, verdict = ("", "held") if fixed else _verdict(row)
        value, sigma = _split(row)
        found.append({
            "name": row.name, "value": value, "sigma": sigma, "unit": row.unit,
            "bounds": _bounds(row), "tone": tone, "verdict": verdict, "note": row.note,
            "held": fixed,
        })  # fmt: skip
    return found


def covariance_table(result: Any, rows: Rows) -> dict[str, Any] | None:
    """Return covariances (diagonal and below) and correlations (above) of the estimates; None
    where no parameter has a standard deviation."""
    named = {row.name: row for row in rows}
    rows = [named[name] for name in result.correlated if name in named]
    sigma = np.array([np.nan if row.std_dev is None else row.std_dev for row in rows], float)
    if len(rows) != len(result.correlated) or not np.isfinite(sigma).any():
        return None
    correlation = np.asarray(result.correlation, float)
    covariance = correlation * np.outer(sigma, sigma)
    return {
        "names": [row.name for row in rows],
        "rows": [
            {
                "name": row.name,
                "unit": row.unit,
                "sigma": f"{sigma[i]:.3g}" if np.isfinite(sigma[i]) else DASH,
                "cells": [
                    _covariance_cell(covariance[i, j], correlation[i, j], j - i)
                    for j in range(len(rows))
                ],
            }
            for i, row in enumerate(rows)
        ],
    }


def _covariance_cell(covariance: float, correlation: float, above: int) -> dict[str, str]:
    """One cell: text and tone; above > 0: right of the diagonal."""
    if not np.isfinite(covariance):
        return {"text": DASH, "tone": ""}
    if above > 0:
        tone = "strong" if abs(correlation) > STRONG else "correlated"
        return {"text": f"{correlation:+.3f}", "tone": tone}
    return {"text": f"{covariance:.3g}", "tone": "" if above else "own"}


def _verdict(row: ParameterRow) -> tuple[str, str]:
    if row.bound:
        return "", "one side"
    if row.at_bound:
        return "bad", "at bound"
    if not row.identifiable:
        return "bad", "not identifiable"
    return "good", "identified"


def _split(row: ParameterRow) -> tuple[str, str]:
    if row.std_dev is None or not np.isfinite(row.std_dev) or row.std_dev <= 0:
        return f"{row.value:.6g}", DASH
    text = with_sigma(row.value, row.std_dev)
    if text.startswith("("):
        inside, power = text[1:].split(")")
        value, sigma = inside.split(" ± ")
        return value + power, sigma + power
    value, sigma = text.split(" ± ")
    return value, sigma


def _bounds(row: ParameterRow) -> str:
    if row.lower is None and row.upper is None:
        return DASH
    low = "-∞" if row.lower is None or not np.isfinite(row.lower) else f"{row.lower:.4g}"
    high = "∞" if row.upper is None or not np.isfinite(row.upper) else f"{row.upper:.4g}"
    return f"{low} … {high}"


def provenance_facts(provenance: Mapping) -> list[tuple[str, str]]:
    """Return (label, text) lines on where a result comes from; files with their hashes."""
    lines = []
    for key, value in provenance.items():
        if key == "data" and isinstance(value, (list, tuple)):
            for item in value:
                digest = str(item.get("sha256") or "") if isinstance(item, Mapping) else ""
                source = item.get("source") if isinstance(item, Mapping) else item
                lines.append(
                    ("data", f"{source}" + (f" (sha256 {digest[:16]}…)" if digest else ""))
                )
        elif key != "command":
            lines += flat({key: value})
    return lines


def flat(mapping: Mapping, prefix: str = "") -> list[tuple[str, str]]:
    """Return nested plain data as (dotted label, text) lines."""
    lines: list[tuple[str, str]] = []
    for key, value in mapping.items():
        label = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            lines += flat(value, f"{label}.")
        elif isinstance(value, (list, tuple)) and any(isinstance(v, Mapping) for v in value):
            for i, item in enumerate(value):
                lines += flat(item, f"{label}.{i}.") if isinstance(item, Mapping) else []
        else:
            lines.append((label, _text(value)))
    return lines


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(item) for item in value) or DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    return DASH if value is None else str(value)
