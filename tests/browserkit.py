"""A real browser for tests: Chromium without a window, spoken to over a pipe in its DevTools protocol.

https://chromedevtools.github.io/devtools-protocol/; messages are JSON documents, each ended by a NUL.
"""

import base64
import json
import os
import select
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from workshop import require

_LONGEST_S = 120


class Browser:
    """One tab; ``events`` are all that the browser told, in order."""

    def __init__(self, reading, writing):
        self.reading, self.writing = reading, writing
        self.buffer, self.events, self.number, self.session = b"", [], 0, None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **parameters):
        """The answer to one request."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda told: told.get("id") == self.number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def open(self, path, *, width, dark=False, media="screen", height=900):
        """Show a file in a window of that width; what was told of earlier pages is forgotten."""
        phone = width < 500
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.events.clear()
        self.ask("Page.navigate", url=Path(path).absolute().as_uri())
        self._until(lambda told: told.get("method") == "Page.loadEventFired")

    def value(self, script):
        """What a piece of JavaScript comes to in the page."""
        done = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def said(self):
        """What the page wrote to the console, as errors, warnings or otherwise."""
        kinds = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [told["params"] for told in self.events if told.get("method") in kinds]

    def requests(self):
        """Addresses that were asked for since the page was opened."""
        return [
            told["params"]["request"]["url"]
            for told in self.events
            if told.get("method") == "Network.requestWillBeSent"
        ]

    def picture(self, path):
        """The whole page as a PNG file."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        area = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=area)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def printed(self):
        """The page as PDF, as it comes out of a printer."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])

    def _until(self, wanted):
        end = time.monotonic() + _LONGEST_S
        while True:
            while b"\0" in self.buffer:
                text, _, self.buffer = self.buffer.partition(b"\0")
                told = json.loads(text)
                if "id" not in told:
                    self.events.append(told)
                if wanted(told):
                    return told
            ready, _, _ = select.select([self.reading], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            part = os.read(self.reading, 1 << 20)
            assert part, "the browser has ended"
            self.buffer += part


@contextmanager
def chromium(folder):
    """A browser with a profile of its own under ``folder``; skips the test (or fails it under CI) without Chromium."""
    program = require("chromium", "chromium")
    to_browser, writing = os.pipe()
    reading, from_browser = os.pipe()
    flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
    flags += ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
    shell = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
    with Path(folder, "browser.log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", shell, program, *flags, f"--user-data-dir={folder}/profile"],
            pass_fds=(to_browser, from_browser),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Browser(reading, writing)
    finally:
        os.close(writing)  # it ends when nobody can speak to it any more
        os.close(reading)
        process.terminate()
        process.wait(timeout=30)
