"""Tosses of a cube: what their page and their playback show (estimation_page.Sections)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diffsim_ros.viz import curves, player, plots, render, style
from diffsim_ros.viz import toss_tables as tables
from diffsim_ros.viz.estimation_page import Sections
from diffsim_ros.viz.html import Block
from diffsim_ros.viz.markers import LOOKS, Marker, static_markers, strobe_markers, toss_markers
from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.playback import TOPICS, Reel, every
from diffsim_ros.viz.summary import summarise

CAPTIONS = {
    "best": "the best prediction",
    "easy": "better than three quarters",
    "median": "the median prediction",
    "harder": "worse than three quarters",
    "hard": "worse than nine tenths",
    "worst": "the worst prediction",
}
SINGLE = ("best", "median", "hard", "worst")  # trials with a figure of their own
FIGURES = (
    ("errors", "Mean error with its 95 % bootstrap interval over tosses.",
     "Mean errors of all simulators"),
    ("error_distribution", "Share of tosses predicted better than a given error: higher and "
     "further left is better.", "Cumulative distribution of errors"),
    ("paired_errors", "Toss by toss against the best published simulator of each quantity; below "
     "the diagonal diffsim is better.", "Paired errors"),
    ("error_by_trial", "Every toss, sorted by diffsim's error in each panel; the combined error "
     "has a logarithmic axis.", "Errors of every toss"),
)  # fmt: skip
"""Name, caption and words of each figure of errors."""
DRAWN = 12
"""Tosses whose playback has pictures."""


class TossSections(Sections):
    """Recordings are results.Predictions; `summary` is of them."""

    template = "toss_page.html"
    titles = "Prediction error", "Single tosses"
    further = ("measured", "Measured"), ("simulated", "Simulated"), ("limits", "Limits")
    seen = (
        "The solid cube is simulated, open loop, from the measured start; the outlined one is "
        "what was measured."
    )
    choice = "Best, typical and worst predictions to choose from."

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.summary = summarise(result)
        self.compared = tables.error_table(self.summary)
        self.intro = self.compared["lead"] if self.compared else ""
        self.picks = {word: self.summary.motions[i] for word, i in tables.chosen(self.summary)}

    def lead(self) -> str:
        """The verdict in one or two sentences."""
        return tables.lead(self.summary)

    def cards(self) -> list[dict[str, str]]:
        """Mean errors beside the best published ones."""
        return tables.cards(self.summary)

    def _median_first(self) -> list[tuple[str, Motion]]:
        """Title and motion of the trials worth looking at."""
        order = sorted(self.picks.items(), key=lambda pick: pick[0] != "median")
        return [(f"{motion.name} – {CAPTIONS[word]}", motion) for word, motion in order]

    def figures(self) -> Mapping[str, Any]:
        """Errors beside published ones and over time, and motions of single tosses."""
        summary, figures = self.summary, {}
        if summary.errors:
            figures["errors"] = plots.mean_errors(tables.mean_intervals(summary))
            figures["error_distribution"] = plots.error_distribution(summary.errors)
            if any(len(simulators) > 1 for simulators in summary.errors.values()):
                figures["paired_errors"] = plots.paired_errors(summary.errors)
            figures["error_by_trial"] = plots.error_by_trial(summary.errors, summary.error_ids)
        if len(summary.judged) > 1:
            judged = [summary.motions[i] for i in summary.judged]
            figures["error_over_time"] = plots.error_over_time(judged)
        for word in SINGLE:
            if word in self.picks:
                figures[f"motion_{word}"] = plots.motion_plot(self.picks[word])
        return figures

    def pictures(self) -> Mapping[str, bytes]:
        """The median toss at some instants, measured against simulated."""
        if not self.picks:
            return {}
        motion = self.picks.get("median", self.picks["best"])
        markers = static_markers(motion) + strobe_markers(motion)
        legend = (("measured", style.MEASURED), ("simulated", style.SIMULATED))
        title = motion.name.capitalize()
        return {"cubes": render.render_png(markers, title=title, legend=legend)}

    def motions(self) -> list[dict[str, Any]]:
        """The measured cube as a ghost, the simulated one solid, contact forces."""
        return [_motion(motion, title) for title, motion in self._median_first()]

    def curves(self) -> list[dict[str, Any]]:
        """The cube's poses."""
        return [
            curves.view(title, "time [s]", {"cube": curves.poses(motion)})
            for title, motion in self._median_first()
        ]

    def blocks(self) -> list[Block]:
        """Figures of the errors, and every toss."""
        if not self.compared:
            return []
        figures = [Block(figure=name, caption=text, alt=alt) for name, text, alt in FIGURES]
        return [*figures, Block(table=tables.trial_table(self.summary))]

    def single(self) -> list[Block]:
        """Residuals over time, and a figure of each toss that has one."""
        caption = "How the residual grows with time, over all predicted tosses."
        found = []
        if len(self.summary.judged) > 1:
            found = [Block(figure="error_over_time", caption=caption, alt="Residuals over time")]
        for word in SINGLE:
            if word in self.picks:
                motion = self.picks[word]
                errors = "; ".join(
                    f"{title} {factor * motion.errors[q]:.3g} {unit}"
                    for q, (title, unit, factor) in plots.QUANTITIES.items()
                    if q in motion.errors
                )
                title = f"{motion.name} – {CAPTIONS[word]}"
                found.append(Block(title, figure=f"motion_{word}", caption=errors))
        return found

    def more(self) -> Mapping[str, Any]:
        """Errors, what was measured and simulated, and what limits the prediction."""
        summary = self.summary
        return {
            "compared": self.compared, "limits": tables.limits(summary),
            "recording": tables.recording(summary), "files": tables.files(summary),
            "model": tables.model_facts(summary),
        }  # fmt: skip

    def play(self, reel: Reel) -> None:
        """All poses on TOPICS; the first tosses with pictures."""
        for number, motion in enumerate(self.summary.motions):
            t = motion.t - motion.t[0]
            for who in LOOKS:
                pose = getattr(motion, f"{who}_position"), getattr(motion, f"{who}_orientation")
                reel.poses(TOPICS[who], t, *pose)
            if number < DRAWN:
                rows = every(t)
                reel.draw(t[rows], (_drawn(motion, k) for k in rows))
            reel.end(t[-1])


def _motion(motion: Motion, title: str) -> dict[str, Any]:
    bodies = [
        player.body_data(
            who, "box", motion.size, LOOKS[who][0], getattr(motion, f"{who}_position"),
            getattr(motion, f"{who}_orientation"), who == "measured",
        )
        for who in ("simulated", "measured")
    ]  # fmt: skip
    forces = ()
    if motion.contact_force is not None and motion.contact_point is not None:
        forces = player.force_data(motion.contact_point, motion.contact_force)
    errors = {
        "distance [mm]": 1e3 * motion.position_error(),
        "angle [°]": np.degrees(motion.rotation_error()),
    }
    t = motion.t - motion.t[0]
    return player.playable(title, t, bodies, errors=errors, forces=forces)


def _drawn(motion: Motion, k: int) -> list[Marker]:
    """The cubes at a frame; with the first one, what stays."""
    static = [] if k else static_markers(motion)
    return static + toss_markers(motion, k)
