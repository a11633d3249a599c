"""A tenth of the study of the viewer, of one motion; what a page draws and asks for."""

import shutil

import pytest

pytest.importorskip("viser")

from validation.viewer import study


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_page_draws_the_motion_and_asks_nobody_else():
    found = study(0.1, only=("cloth",))["cloth"]  # asserts it
    assert found["picture_changes"] and found["requests_elsewhere"] == []
    assert found["frames_per_second"] > 0.5 and found["sent_per_second"] > 0.5
