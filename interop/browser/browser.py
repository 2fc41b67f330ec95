"""Chromium without a window, told what to do over the pipe of its DevTools protocol."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

# How long anything may take before a test gives up on it.
PATIENCE_S = 60

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
]

# Keys by name: code, virtual key code, and the text that they write.
KEYS = {
    "Enter": ("Enter", 13, "\r"),
    "Tab": ("Tab", 9, None),
    "Escape": ("Escape", 27, None),
    "Delete": ("Delete", 46, None),
    "ArrowUp": ("ArrowUp", 38, None),
    "ArrowDown": ("ArrowDown", 40, None),
    "Home": ("Home", 36, None),
    "End": ("End", 35, None),
    " ": ("Space", 32, " "),
}
SHIFT = 8


class Browser:
    """The process. Its pages are gone with it."""

    def __init__(self, program="chromium"):
        self._profile = tempfile.mkdtemp(prefix="tapeline-browser-")
        command_end, self._commands = _pipe()
        self._answers, answer_end = _pipe()
        # The browser reads descriptor 3 and writes descriptor 4.
        ends = f'exec "$@" 3<&{command_end} 4>&{answer_end}'
        self._log = open(os.path.join(self._profile, "log"), "w+b")
        self._process = subprocess.Popen(
            ["bash", "-c", ends, "browser", program, *FLAGS, f"--user-data-dir={self._profile}/data"],
            pass_fds=(command_end, answer_end), stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log, start_new_session=True)
        os.close(command_end)
        os.close(answer_end)
        self._received = b""
        self._last_id = 0
        self._pages = {}

    def page(self, width=1360, height=860):
        """A new page, in a context of its own: nothing is remembered from others."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context,
                           width=width, height=height)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, context)
        self._pages[session] = page
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.call("Page.bringToFront")
        return page

    def leave(self, page):
        """Ends a page."""
        del self._pages[page.session]
        self.call("Target.disposeBrowserContext", browserContextId=page.context)

    def call(self, method, session=None, **parameters):
        """Calls a method of the protocol and waits for its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        _write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") != self._last_id:
                page = self._pages.get(answer.get("sessionId"))
                if page is not None and "method" in answer:
                    page.happened(answer["method"], answer["params"])
            elif "error" in answer:
                raise AssertionError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def _next(self):
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self._received:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise AssertionError(f"the browser does not answer:\n{self._said()}")
            piece = os.read(self._answers, 1 << 20)
            if not piece:
                raise AssertionError(f"the browser has ended:\n{self._said()}")
            self._received += piece
        message, self._received = self._received.split(b"\0", 1)
        return json.loads(message)

    def _said(self):
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def close(self):
        """Ends the process, and its children with it."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._log.close()
        shutil.rmtree(self._profile, ignore_errors=True)


class Page:
    """One page: what is typed into it, and what it shows."""

    def __init__(self, browser, session, context):
        self.session = session
        self.context = context
        # What the browser complains of: exceptions, refused loads, broken policies.
        self.complaints = []
        self._browser = browser

    def call(self, method, **parameters):
        return self._browser.call(method, self.session, **parameters)

    def happened(self, method, parameters):
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", details).get("description", str(details)))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("warning", "error"):
            self.complaints.append(parameters["entry"]["text"])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def ask(self, expression):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise AssertionError(details.get("exception", details).get("description", str(details)))
        return result["result"].get("value")

    def until(self, expression):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + PATIENCE_S
        while True:
            value = self.ask(expression)
            if value:
                return value
            if time.monotonic() > end:
                seen = self.ask("document.body.innerText")
                raise AssertionError(f"not within {PATIENCE_S} s: {expression}\nthe page shows:\n{seen}")
            time.sleep(0.02)

    def press(self, name, shift=False):
        """Presses a key and lets it go."""
        code, number, text = KEYS[name]
        event = {"key": name, "code": code, "windowsVirtualKeyCode": number,
                 "modifiers": SHIFT if shift else 0}
        down = dict(event, type="keyDown", text=text) if text else dict(event, type="rawKeyDown")
        self.call("Input.dispatchKeyEvent", **down)
        self.call("Input.dispatchKeyEvent", **dict(event, type="keyUp"))

    def type(self, text):
        """Types text, key by key."""
        for character in text:
            event = {"key": character, "text": character}
            self.call("Input.dispatchKeyEvent", type="keyDown", **event)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=character)

    def prefer(self, **features):
        """Media features that the user prefers, as `prefers_color_scheme="dark"`."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=named)

    def screenshot(self, path, width, height, scale=1):
        """Writes what is seen as a PNG file."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)
        data = self.call("Page.captureScreenshot", format="png", optimizeForSpeed=False)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


def _pipe():
    # High numbers, which the redirections to 3 and 4 do not touch.
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high


def _write(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]
