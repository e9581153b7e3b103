"""A headless Chromium, driven over a pipe by its debugging protocol."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from tests.support.waiting import PATIENCE_S, eventually

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_READ_FD, _WRITE_FD = 3, 4  # where Chromium reads commands, and writes answers


class Browser:
    """A process of Chromium, and the page of its one window."""

    def __init__(self, folder: Path) -> None:
        """Start it with its profile in ``folder``."""
        commands, answers = os.pipe(), os.pipe()
        self._writing, self._reading, self._rest = commands[1], answers[0], b""
        self.requests: list[str] = []  # the addresses that were asked for
        self.errors: list[str] = []  # what the console of the page shows, e.g. of the policy
        self._number, self._session = 0, ""
        # the shell gives the two ends their numbers, whatever theirs are
        shell = f'exec "$@" {_READ_FD}<&{commands[0]} {_WRITE_FD}>&{answers[1]}'
        self._process = subprocess.Popen(
            [
                *("bash", "-c", shell, "bash", str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu"),
                *(
                    "--disable-dev-shm-usage",
                    "--remote-debugging-pipe",
                    "--no-first-run",
                    "--no-proxy-server",
                ),
                *(f"--user-data-dir={folder}", "--hide-scrollbars", "about:blank"),
            ],
            pass_fds=(commands[0], answers[1]),
            env={**os.environ, "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands[0])
        os.close(answers[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._writing)
        os.close(self._reading)

    @contextmanager
    def window(self) -> Iterator[Self]:
        """Open a private window, with nothing of those before it: no cookie, size, colour or request."""
        window = self._call("Target.createBrowserContext")["browserContextId"]
        page = self._call("Target.createTarget", url="about:blank", browserContextId=window)["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        self.requests, self.errors = [], []
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        yield self
        self._session = ""
        self._call("Target.disposeBrowserContext", browserContextId=window)

    def open(self, address: str) -> None:
        """Open a page and wait until it is loaded."""
        self._call("Page.navigate", url=address)
        eventually(lambda: self.value("document.readyState") == "complete")

    def value(self, script: str) -> Any:  # noqa: ANN401 - whatever the script returns
        """Return the value of an expression in the page, also of a promise."""
        found = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    @property
    def text(self) -> str:
        """What the page shows."""
        return str(self.value("document.body ? document.body.innerText : ''"))

    def shows(self, text: str) -> None:
        """Wait until the page shows a text."""
        eventually(lambda: text in self.text)

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window a size in CSS pixels."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        eventually(lambda: self.value("innerWidth") == width)

    def prefer(self, scheme: str) -> None:
        """Prefer ``light`` or ``dark`` pages."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", features=features)
        eventually(lambda: self.value(f"matchMedia('(prefers-color-scheme: {scheme})').matches"))

    def switch_scripts(self, *, off: bool) -> None:
        """Run no scripts in pages opened from now on, or run them again."""
        self._call("Emulation.setScriptExecutionDisabled", value=off)

    def press(self, key: str) -> None:
        """Press a key, e.g. ``Tab``."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=9)

    def picture(self, path: Path) -> None:
        """Write a picture of the window, in the format that the name ends with: ``png`` or ``webp``."""
        shot = self._call("Page.captureScreenshot", format=path.suffix[1:])
        path.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        command: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._writing, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return dict(message["result"])

    def _message(self) -> dict[str, Any]:
        until_s = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            assert select.select([self._reading], [], [], until_s - time.monotonic())[0], "Chromium hangs"
            got = os.read(self._reading, 1 << 20)
            assert got, "Chromium has ended"
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        match message.get("sessionId", "") == self._session and message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            case "Log.entryAdded":
                self.errors.append(message["params"]["entry"]["text"])
        return message
