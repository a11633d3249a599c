"""Words and tables of the report, from a Summary; no pictures and no HTML here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diffsim_ros.viz import style
from diffsim_ros.viz.fit_plots import ParameterRow, with_sigma
from diffsim_ros.viz.plots import QUANTITIES
from diffsim_ros.viz.summary import Comparison, Summary

DASH = "–"
STRONG = 0.9  # a correlation beyond it is shown as such


def cards(summary: Summary) -> list[dict[str, str]]:
    """Return the headline figures: label, value, unit, detail, tone ("good" | "bad" | "blue")."""
    found = []
    for quantity, (mean, median) in summary.means.items():
        title, unit, factor = QUANTITIES[quantity]
        rivals = summary.comparisons.get(quantity, ())
        detail = f"median {factor * median:.3g}" if median is not None else ""
        tone = "blue"
        if rivals:
            best = rivals[0]
            detail += f"{'; ' if detail else ''}best published: {factor * best.mean:.3g} "
            detail += f"({style.label_of(best.simulator)})"
            tone = "good" if mean < best.mean else "bad"
        found.append(card(f"Mean {title}", f"{factor * mean:.3g}", unit, detail, tone))
    count = len(summary.judged)
    unseen = "unseen tosses predicted" if "validate" in summary.roles else "training tosses shown"
    found.append(card("Tosses", str(count), "", f"{unseen}; {_trained(summary)}"))
    return found


def card(
    label: str, value: str, unit: str = "", detail: str = "", tone: str = "blue"
) -> dict[str, str]:
    """Return one headline figure of a page; tone "good", "bad" or "blue"."""
    return {"label": label, "value": value, "unit": unit, "detail": detail, "tone": tone}


def _trained(summary: Summary) -> str:
    count = count_of(summary.metrics.get("train"))
    return f"{count} trained on" if count is not None else "trained on others"


def count_of(group: Any) -> int | None:
    """Return the number of tosses that a group of metrics tells of, under any of its names."""
    if isinstance(group, Mapping):
        for key in ("tosses", "trials", "count", "n"):
            if isinstance(group.get(key), int):
                return group[key]
    return None


def lead(summary: Summary) -> str:
    """Return the verdict in one or two sentences."""
    unseen = "validate" in summary.roles
    if not summary.means:
        return "No toss was predicted; the parameters below are those of the training tosses."
    parts = [
        f"{factor * summary.means[q][0]:.3g} {unit if unit != 'm + rad²' else ''}".strip()
        + f" {title}"
        for q, (title, unit, factor) in QUANTITIES.items()
        if q in summary.means
    ]
    text = f"The fitted model predicts {len(summary.judged)} "
    text += "tosses that it has not seen with " if unseen else "of its training tosses with "
    text += ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1] + " on average."
    first = {q: rivals[0] for q, rivals in summary.comparisons.items() if rivals}
    if first:
        better = [q for q, best in first.items() if summary.means[q][0] < best.mean]
        if not better:
            return f"{text} The best published simulator is better in all {len(first)} measures."
        sure = [q for q in better if first[q].verdict == "better"]
        text += (
            f" It is better than the best published simulator in {len(better)} of {len(first)} "
            f"measures; the paired 95\u00a0% interval excludes equality in {len(sure)} of them."
        )
    return text


def parameter_table(summary: Summary) -> list[dict[str, Any]]:
    """Return rows for the table of parameters, estimated ones first, then held ones."""
    rows = []
    for held, group in ((False, summary.rows), (True, summary.held)):
        for row in group:
            tone, verdict = _verdict(row, held)
            value, sigma = _split(row)
            rows.append(
                {
                    "name": row.name,
                    "value": value,
                    "sigma": sigma,
                    "unit": row.unit,
                    "bounds": _bounds(row),
                    "tone": tone,
                    "verdict": verdict,
                    "note": row.note,
                    "held": held,
                }
            )
    return rows


def covariance_table(summary: Summary) -> dict[str, Any] | None:
    """Return covariances (diagonal and below) and correlations (above) of the estimates; None
    where no parameter has a standard deviation."""
    named = {row.name: row for row in summary.rows}
    rows = [named[name] for name in summary.correlated if name in named]
    sigma = np.array([np.nan if row.std_dev is None else row.std_dev for row in rows], float)
    if len(rows) != len(summary.correlated) or not np.isfinite(sigma).any():
        return None
    covariance = summary.correlation * np.outer(sigma, sigma)
    return {
        "names": [row.name for row in rows],
        "rows": [
            {
                "name": row.name,
                "unit": row.unit,
                "sigma": f"{sigma[i]:.3g}" if np.isfinite(sigma[i]) else DASH,
                "cells": [
                    _covariance_cell(covariance[i, j], summary.correlation[i, j], j - i)
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


def _verdict(row: ParameterRow, held: bool) -> tuple[str, str]:
    if held:
        return "", "held"
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


def error_table(summary: Summary) -> dict[str, Any] | None:
    """Return the comparison with the published simulators; None if there are no errors at all."""
    used = [q for q in QUANTITIES if q in summary.means]
    if not used:
        return None
    names = list(dict.fromkeys(c.simulator for q in used for c in summary.comparisons.get(q, ())))
    ours = [_cell(QUANTITIES[q][2], *summary.means[q]) for q in used]
    rows = [
        {"name": "diffsim", "detail": "", "ours": True, "cells": ours},
        *_variants(summary, used),
    ]
    for name in names:
        cells = []
        for q in used:
            entry = next((c for c in summary.comparisons[q] if c.simulator == name), None)
            cells.append(_rival_cell(QUANTITIES[q][2], entry))
        rows.append({"name": style.label_of(name), "detail": "", "ours": False, "cells": cells})
    note = (
        "Differences are paired, toss by toss, with 95 % bootstrap intervals below them; negative "
        "means that diffsim is better, colour that the interval excludes equality. "
        + _pairs(summary)
        if names
        else "None of these tosses has published errors of other simulators: no comparison."
    )
    what = "unseen" if "validate" in summary.roles else "training"
    return {
        "lead": f"Open loop over {len(summary.judged)} {what} tosses, nothing fitted per toss; "
        "means over the frames of a toss, then over tosses.",
        "note": note,
        "quantities": [
            {"title": QUANTITIES[q][0].capitalize(), "unit": QUANTITIES[q][1]} for q in used
        ],
        "rows": rows,
    }


def _variants(summary: Summary, used: list[str]) -> list[dict[str, Any]]:
    """Rows of the same model predicted from a start by the other rule, where metrics hold them."""
    names = {
        "with_readme_gravity": "start refitted with 9.81 m/s²",
        "with_own_gravity": "start refitted with the model's own gravity",
    }
    rows = []
    for key, name in names.items():
        group = (summary.metrics.get("validate") or {}).get(key)
        if isinstance(group, Mapping) and all(group.get(q) is not None for q in used):
            cells = [_cell(QUANTITIES[q][2], group[q], group.get(f"{q}_median")) for q in used]
            rows.append({"name": "diffsim", "detail": name, "ours": False, "cells": cells})
    return rows


def _pairs(summary: Summary) -> str:
    counts = {c.simulator: c.trials for rivals in summary.comparisons.values() for c in rivals}
    if not counts or set(counts.values()) == {len(summary.judged)}:
        return "All tosses are paired."
    listed = ", ".join(f"{style.label_of(name)} {count}" for name, count in counts.items())
    return f"Paired tosses of {len(summary.judged)}: {listed}."


def _cell(factor: float, mean: float, median: float | None) -> dict[str, str]:
    return {
        "mean": f"{factor * mean:.3g}",
        "median": DASH if median is None else f"{factor * median:.3g}",
        "difference": "",
        "interval": "",
        "verdict": "",
    }


def _rival_cell(factor: float, entry: Comparison | None) -> dict[str, str]:
    if entry is None:
        return {**_cell(1.0, np.nan, None), "mean": DASH}
    cell = _cell(factor, entry.mean, entry.median)
    if entry.difference is not None:
        cell["difference"] = _signed(factor * entry.difference)
        if entry.interval is not None:
            low, high = (factor * end for end in entry.interval)
            cell["interval"] = f"{_signed(low)} … {_signed(high)}"
    cell["verdict"] = entry.verdict
    return cell


def _signed(number: float) -> str:
    """Return the number with a sign, and a minus that is one."""
    return f"{number:+.3g}".replace("-", "−")


def trial_table(summary: Summary) -> dict[str, Any] | None:
    """Return every judged trial's errors, ours and the others', worst e_q first."""
    if not summary.errors:
        return None
    head = ["toss"]
    columns = []
    for quantity, simulators in summary.errors.items():
        title, unit, factor = QUANTITIES[quantity]
        for name, values in simulators.items():
            short = title.removesuffix(" error").removeprefix("combined error ")
            head.append(f"{short} {style.label_of(name)} [{unit}]")
            columns.append(factor * values)
    order = np.argsort(-summary.errors["e_q"]["ours"], kind="stable")
    rows = [[str(summary.error_ids[i]), *(f"{column[i]:.3g}" for column in columns)] for i in order]
    return {"head": head, "rows": rows}


def file_rows(summary: Summary) -> list[tuple[str, str, str]]:
    """Return (file, used for, selection) of the recordings that the configuration names."""
    rows = []
    data = summary.config.get("data") or {}
    for role in ("train", "validate"):
        group = data.get(role) or {}
        for file in group.get("files", ()) if isinstance(group, Mapping) else ():
            rows.append((str(file), role, _selection(group.get("trials", "all"))))
    return rows


def _selection(trials: Any) -> str:
    if isinstance(trials, Mapping):
        return ", ".join(f"{key} {value}" for key, value in trials.items())
    if isinstance(trials, (list, tuple)):
        listed = ", ".join(map(str, trials[:12]))
        return f"{len(trials)} tosses: {listed}{' …' if len(trials) > 12 else ''}"
    return str(trials)


def model_facts(summary: Summary) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return headed (label, text) lists on the model: time steps, metric, fit, uncertainty."""
    names = {
        "simulation": "Simulation",
        "measurement": "Measurement and metric",
        "fit": "Fit",
        "uncertainty": "Uncertainty",
    }
    found = []
    scene = summary.config.get("scene")
    if isinstance(scene, str):
        found.append(("Scene", [("file", scene), ("body", str(summary.config.get("body", "")))]))
    elif isinstance(scene, Mapping):
        found.append(("Scene", flat(scene)))
    for key, heading in names.items():
        group = summary.config.get(key)
        if isinstance(group, Mapping) and group:
            found.append((heading, flat(group)))
    return found


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
