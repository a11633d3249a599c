"""Tutorials run whole, as a reader follows them: shell and Python, in order, in one empty folder.

A ```text block shows what the block before it prints: its lines stand there in this order, words
alike and numbers within 2 %, or as a line `<!-- within 20 % -->` above the block allows; … at
a line's end, or as a line, stands for anything. Numbers of the running text stand in a block, too,
so that none can go stale. `<!-- not run: REASON -->` marks what a test cannot run;
`python -m tests.docs.test_tutorials PAGE` runs that, too.
"""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.docs.printed import NUMBER, WITHIN, missing_line
from tests.docs.test_snippets import check_imports
from tests.pages import ROOT, WHOLE

BLOCK = re.compile(
    r"(?:^<!-- (?:not run: (?P<why>.+?)|within (?P<within>[\d.]+) %) -->\n)?"
    r"^```(?P<kind>bash|python|text)\n(?P<code>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
NEEDS = {"your_depth_camera": "open3d", "your_arm": "urchin", "throw_with_a_ur5": "urchin",
         "ros_loop": "urchin"}  # fmt: skip
"""Of extras."""
NO_PROSE = re.compile(
    r"<!--.*?-->|</?video[^>]*>|```.*?```|`[^`]*`|\]\([^)]*\)|^(?:#+ )?\d+\.|ROS 2",
    re.DOTALL | re.MULTILINE,
)
SHIM = '#!/bin/sh\nexec "{}" -m diffsim_ros.cli "$@"\n'


def blocks(text):
    """(line, kind, code, reason for not running, tolerance [%]) of each block."""
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("code"))
        within = float(found["within"] or WITHIN)
        yield line, found["kind"], found["code"], found["why"], within


def run_shell(code, folder):
    """What the commands print; the first that fails ends the test."""
    shim = folder / ".bin" / "diffsim"  # this checkout's
    shim.parent.mkdir(exist_ok=True)
    shim.write_text(SHIM.format(sys.executable))
    shim.chmod(0o755)
    paths = {"PATH": shim.parent, "PYTHONPATH": ROOT}
    environment = {
        **os.environ,
        **{k: os.pathsep.join([str(v), os.environ.get(k, "")]) for k, v in paths.items()},
    }
    done = subprocess.run(
        ["bash", "-ec", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{code}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def run_python(code, names, place):
    """What it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(place), "exec"), names)
    return printed.getvalue()


def follow(page, folder, whole=False):
    """Run the blocks of a page in a folder; with `whole` those too that tests do not run."""
    names, printed = {"__name__": "__main__"}, ""
    for line, kind, code, why, within in blocks(page.read_text()):
        if why is not None and not whole:
            if kind == "python":
                check_imports(code)
            continue
        if kind == "bash":
            printed = run_shell(code, folder)
        elif kind == "python":
            printed = run_python("\n" * line + code, names, page)
        else:
            lost = missing_line(code, printed, within)
            assert lost is None, f"{page.name}:{line}: not printed: {lost!r}\nbut:\n{printed}"


@pytest.mark.parametrize("page", WHOLE, ids=lambda page: page.stem)
def test_a_tutorial_runs_whole(page, tmp_path, monkeypatch):
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    monkeypatch.chdir(tmp_path)
    follow(page, tmp_path)


@pytest.mark.parametrize("page", WHOLE, ids=lambda page: page.stem)
def test_numbers_of_the_text_stand_in_a_block(page):
    text = page.read_text()
    known = {abs(float(n)) for _, _, code, *_ in blocks(text) for n in re.findall(r"[\d.]*\d", code)
             if n.count(".") < 2}  # fmt: skip
    prose = NO_PROSE.sub("", text)
    assert not [n for n in NUMBER.findall(prose) if abs(float(n)) not in known]


@pytest.mark.parametrize("page", WHOLE, ids=lambda page: page.stem)
def test_a_tutorial_is_short_and_says_what_is_printed(page):
    text = page.read_text()
    assert len(text.splitlines()) <= 200
    assert "```text\n" in text
    assert "## Where next" in text


def test_what_differs_is_found(tmp_path):
    page = "E = 20.1 kPa ± 2\n…\nverdict: good …\n"
    printed = "first\nE = 20.0 kPa ± 2\nother 3\nverdict: good, as\n"
    assert missing_line(page, printed, 2) is None
    assert missing_line(page, printed.replace("20.0", "25.0"), 2) == "E = 20.1 kPa ± 2"
    assert missing_line(page, printed.replace("good", "usable"), 2) == "verdict: good …"
    assert missing_line("b\na\n", "a\nb\n", 2) == "a"
    text = "<!-- not run: no robot -->\n```bash\na\n```\n<!-- within 9 % -->\n```text\nb\n```\n"
    assert [(kind, why, w) for _, kind, _, why, w in blocks(text)] == [
        ("bash", "no robot", 2), ("text", None, 9)]  # fmt: skip
    with pytest.raises(AssertionError):
        run_shell("false; true", tmp_path)


def main():
    """Follow the pages that are named whole, each in a folder of its own."""
    for page in WHOLE:
        if page.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                os.chdir(folder)
                try:
                    follow(page, folder, whole=True)
                finally:
                    end_nodes(folder / "pids")
                    os.chdir(ROOT)
            print(f"{page.stem}: all as the page says")


def end_nodes(path):
    """Those that a page started in the background and, for it failed, did not end."""
    for pid in path.read_text().split() if path.exists() else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGTERM)


if __name__ == "__main__":
    main()
