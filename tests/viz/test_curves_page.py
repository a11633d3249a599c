"""The curves of a report in a browser: wheel, drag, double-click and buttons work.

What a page shows of its ranges is read as a person does: the readout below the pointer, the ticks
beside the axes.  Chromium may be absent; that every part that the script looks for is on the page
is checked without it.
"""

from __future__ import annotations

import html
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.viz import curves
from diffsim_ros.viz.html import environment

TEMPLATES = Path(curves.__file__).parent / "templates"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
WIDTH, LEFT, RIGHT, TOP, BOTTOM, PANEL = 800, 62, 14, 24, 22, 170  # of curves.js, and the style
STYLE = f"<style>canvas, .plots {{ width: {WIDTH}px; display: block; margin: 0 }}</style>"
DRIVER = """
let drawn = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  drawn.push([this.canvas, text, x, y]); return write.call(this, text, x, y);
};
HTMLCanvasElement.prototype.setPointerCapture = () => {};  // of a pointer that is none
"""
STEPS = """
const reported = {}, canvas = document.querySelector(".plots canvas");
const send = (kind, type, x, y, more) => {
  const box = canvas.getBoundingClientRect();
  const where = { clientX: box.left + x, clientY: box.top + y, cancelable: true };
  const e = new kind(type, { ...where, ...more });
  canvas.dispatchEvent(e); return e.defaultPrevented;
};
const pointer = (type, x, y, more) => send(PointerEvent, type, x, y, more);
const readout = () => document.querySelector(".readout").textContent;
const at = (x) => { pointer("pointermove", x, 90); return parseFloat(readout().split(" ")[1]); };
const ends = () => [at(%(left)d), at(%(right)d)];
const heights = () => {  // ticks of the quantity: [value, pixel]
  drawn = []; pointer("pointermove", 300, 90);
  const beside = drawn.filter(([c, , x]) => c === canvas && x === %(left)d - 6);
  return beside.map(([, text, , y]) => [parseFloat(text), y - 4]);
};
const wheel = (x, y, delta, more) => send(WheelEvent, "wheel", x, y, { deltaY: delta, ...more });
const drag = (a, b, more) => {
  pointer("pointerdown", ...a, more); pointer("pointermove", ...b, more);
  pointer("pointerup", ...b, more);
};
const shift = { shiftKey: true }, both = { shiftKey: true, ctrlKey: true };
const press = (name) => document.querySelector(".zoom ." + name).click();
const all = () => send(MouseEvent, "dblclick", 100, 90);
reported.whole = ends(); reported.heights = heights(); reported.readout = (at(424), readout());
reported.scrolled = wheel(243, 90, -100); reported.after_scroll = ends();
reported.zoomed = wheel(243, 90, -100, shift);
reported.after_zoom = ends(); reported.about = at(243);
all(); reported.after_all = ends();
drag([243, 90], [605, 92]); reported.range = ends();
drag([243, 90], [315.4, 90], shift); reported.panned = ends();
all(); drag([243, 60], [605, 110]); reported.box = ends(); reported.box_heights = heights();
all(); drag([243, 60], [243, 80], shift); reported.moved_heights = heights();
all(); wheel(243, 86, 100, both); reported.both = ends(); reported.both_heights = heights();
all(); drag([300, 90], [303, 90]); reported.click = ends();
press("in"); reported.in = ends(); press("out"); reported.out = ends();
press("in"); press("all"); reported.all = ends();
const first = () => document.querySelector(".legend button");
first().click();
reported.pressed = first().getAttribute("aria-pressed"); reported.hidden = (at(424), readout());
pointer("pointerleave", 0, 0); reported.left = readout();
document.body.innerHTML = ""; const out = document.createElement("pre"); out.id = "reported";
out.textContent = JSON.stringify(reported); document.body.append(out);
"""


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """What the page shows after each of STEPS."""
    if CHROMIUM is None:
        pytest.skip("no chromium")
    t = np.linspace(0.0, 10.0, 101)
    lines = [curves.line("measured", t, 2.0 * t), curves.line("simulated", t, 2.0 * t + 1.0)]
    views = [curves.view("throw", "time", {"ball": [curves.panel("x [mm]", lines)]})]
    made = environment().from_string("{% import 'parts.html' as p %}{{ p.curves('c', views) }}")
    script = (TEMPLATES / "curves.js").read_text()
    steps = STEPS % {"left": LEFT, "right": WIDTH - RIGHT}
    body = f"{made.render(views=views)}<script>{DRIVER}{script}{steps}</script>"
    page = tmp_path_factory.mktemp("page") / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8>{STYLE}<body>{body}")
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
        f"--user-data-dir={page.parent / 'profile'}", "--window-size=1000,700", page.as_uri(),
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = re.search(r'<pre id="reported">(.*?)</pre>', ended.stdout, re.DOTALL)
    assert found, f"the page did not come through its steps: {ended.stdout[-500:]}"
    return json.loads(html.unescape(found[1]))


def scale(ticks):
    """Pixels a unit and value at pixel 0 of ticks [value, pixel], which must be straight."""
    value, pixel = np.array(ticks).T
    slope, offset = np.polyfit(pixel, value, 1)
    np.testing.assert_allclose(slope * pixel + offset, value, atol=0.02 * np.ptp(value))
    return slope, offset


def ends_of(ticks):
    """Lowest and highest value that the panel shows."""
    slope, offset = scale(ticks)
    return [slope * y + offset for y in (PANEL - BOTTOM, TOP)]


def close(found, wanted):
    assert found == pytest.approx(wanted, abs=2e-3), found


def test_at_first_all_is_seen_and_the_readout_names_it(reported):
    close(reported["whole"], [0, 10])
    close(ends_of(reported["heights"]), [-1.05, 22.05])  # 0 to 21, and 5 % of room
    assert reported["readout"] == "time 5 – x [mm]: measured 10, simulated 11"
    assert reported["left"] == ""


def test_the_wheel_zooms_about_the_pointer_with_shift_alone(reported):
    assert reported["scrolled"] is False and reported["zoomed"] is True  # else the page scrolls
    close(reported["after_scroll"], [0, 10])
    share = math.exp(-0.2)
    close(reported["after_zoom"], [2.5 - 2.5 * share, 2.5 + 7.5 * share])
    close(reported["about"], 2.5)
    close(reported["after_all"], [0, 10])  # double-click


def test_with_control_the_quantity_is_zoomed_too(reported):
    share = math.exp(0.2)
    close(reported["both"], [2.5 - 2.5 * share, 2.5 + 7.5 * share])
    slope, offset = scale(reported["heights"])
    u, (low, high) = slope * 86 + offset, ends_of(reported["heights"])
    close(ends_of(reported["both_heights"]), [u + (end - u) * share for end in (low, high)])


def test_a_drag_takes_its_range_and_a_box_the_quantity_too(reported):
    close(reported["range"], [2.5, 7.5])
    close(reported["box"], [2.5, 7.5])
    slope, offset = scale(reported["heights"])
    close(ends_of(reported["box_heights"]), [slope * 110 + offset, slope * 60 + offset])
    close(reported["click"], [0, 10])  # three pixels are a click


def test_with_shift_a_drag_moves_what_is_seen(reported):
    close(reported["panned"], [2.0, 7.0])  # a tenth of 5 to the right
    slope, _ = scale(reported["heights"])
    low, high = ends_of(reported["heights"])
    close(ends_of(reported["moved_heights"]), [low - 20 * slope, high - 20 * slope])


def test_buttons_and_legend(reported):
    close(reported["in"], [2, 8])
    close(reported["out"], [0, 10])
    close(reported["all"], [0, 10])
    assert reported["pressed"] == "false"
    assert reported["hidden"] == "time 5 – x [mm]: simulated 11"


def test_every_part_that_the_script_looks_for_is_on_the_page():
    script, parts = ((TEMPLATES / name).read_text() for name in ("curves.js", "parts.html"))
    macro = re.search(r"{% macro curves.*?{% endmacro %}", parts, re.DOTALL)[0]
    wanted = set(re.findall(r'find\("(\w+)"\)', script))
    assert len(wanted) >= 9 and wanted <= set(re.findall(r'class="(\w+)"', macro))
    received = set(re.findall(r'addEventListener\("(\w+)"', script))
    pointer = {f"pointer{what}" for what in ("down", "move", "up", "leave")}
    assert received == pointer | {"dblclick", "wheel", "click", "change"}
