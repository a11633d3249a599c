"""Debian's Chromium without a screen, by its DevTools protocol: pages are opened and measured."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

SIZE = (1000, 640)
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--remote-debugging-port=0",
)  # fmt: skip
"""WebGL is drawn by the CPU."""
COUNTING = """window.arrived = 0;
window.Worker = class extends window.Worker {
  constructor(...given) {
    super(...given); this.addEventListener("message", () => { window.arrived += 1; });
  }
};"""
"""Counts what workers send to the page: one of viser's has the connection to the server."""
RATES = """new Promise((done) => {
  let frames = 0; const start = performance.now(), before = window.arrived;
  const step = () => {
    frames += 1; const passed = performance.now() - start;
    if (passed < %d) requestAnimationFrame(step);
    else done([1000 * frames / passed, 1000 * (window.arrived - before) / passed]);
  };
  requestAnimationFrame(step);
})"""


def program() -> str:
    """Chromium's path; ImportError where it is not installed."""
    found = shutil.which("chromium")
    if found is None:
        raise ImportError("chromium is not installed: apt-get install chromium")
    return found


class Page:
    """One page; a context."""

    def __init__(self, address: str) -> None:
        from websockets.sync.client import connect

        self._folder = tempfile.mkdtemp()
        options = (
            *OPTIONS,
            f"--user-data-dir={self._folder}",
            f"--window-size={SIZE[0]},{SIZE[1]}",
        )
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([program(), *options, "about:blank"], **quiet)
        self._socket = connect(self._target(), max_size=2**28, ping_interval=None)
        self._number, self.events = 0, []
        for domain in ("Page", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=COUNTING)
        self.call("Page.navigate", url=address)

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict:
        """The result of a command, or RuntimeError; events that come are kept in `events`."""
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        self._socket.send(json.dumps(request))
        while True:
            message = json.loads(self._socket.recv(timeout=120))
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def rates(self, seconds: float) -> tuple[float, float]:
        """Calls of requestAnimationFrame, and messages that arrive from the server [Hz]."""
        found = self.call(
            "Runtime.evaluate", expression=RATES % int(1e3 * seconds), awaitPromise=True,
            returnByValue=True,
        )  # fmt: skip
        frames, arrived = found["result"]["value"]
        return float(frames), float(arrived)

    def picture(self) -> bytes:
        """PNG of what is seen."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def requested(self) -> set[str]:
        """Addresses of all that was asked for over the network."""
        found = {
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        }
        return {url for url in found if not url.startswith(("data:", "blob:"))}

    def _target(self) -> str:
        file, until = Path(self._folder) / "DevToolsActivePort", time.monotonic() + 60.0
        while time.monotonic() < until:
            time.sleep(0.1)
            if file.is_file() and len(words := file.read_text().split()) > 1:
                with urllib.request.urlopen(f"http://127.0.0.1:{words[0]}/json") as answer:
                    pages = [one for one in json.load(answer) if one["type"] == "page"]
                if pages:
                    return str(pages[0]["webSocketDebuggerUrl"])
        raise AssertionError("chromium has not started within 60 s")
