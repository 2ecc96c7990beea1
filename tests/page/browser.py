"""A headless Chromium, driven over its DevTools protocol through two pipes: nothing to install but the browser."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

CHROMIUM = shutil.which("chromium")

KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "Home": 36, "End": 35, "PageDown": 34, "PageUp": 33,
        "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """One tab.  `log` is what the console and uncaught errors said, `asked` every address but the file's own."""

    def __init__(self, width=1200, height=900):
        self.profile = tempfile.TemporaryDirectory(prefix="railhead-page-")
        self.log, self.asked, self.loaded = [], [], False
        commands, self.to = os.pipe()
        self.back, answers = os.pipe()

        def pipes():  # Chromium reads commands from 3 and answers on 4
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]  # neither of them is 3 or 4
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
             "--hide-scrollbars", "--disable-background-networking", "--disable-dev-shm-usage",
             "--force-color-profile=srgb", f"--window-size={width},{height}",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.number, self.buffer, self.session = 0, b"", None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        os.close(self.to)
        os.close(self.back)
        self.profile.cleanup()

    def call(self, method, timeout=60, **parameters):
        """The result of a command; an error of the browser is one here."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout
        while True:
            answer = self.next_message(end - time.monotonic())
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def next_message(self, timeout):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], max(0, timeout))
            assert ready, "the browser does not answer"
            piece = os.read(self.back, 1 << 20)
            assert piece, "the browser has ended"
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, event, about):
        if event == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.log.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.log.append(" ".join(str(one.get("value", one.get("description"))) for one in about["args"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.log.append(about["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.asked.append(about["request"]["url"])
        elif event == "Page.loadEventFired":
            self.loaded = True

    def open(self, path):
        """Loads a file and waits until its script has drawn it."""
        self.loaded = False
        self.call("Page.navigate", url=Path(path).as_uri())
        end = time.monotonic() + 60
        while not self.loaded:
            self.next_message(end - time.monotonic())
        self.asked.remove(Path(path).as_uri())
        self.settle()

    def settle(self):
        """Waits until what was done is on the screen."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector="main"):
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def press(self, key, times=1):
        code = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, 0)}
        if len(key) == 1:
            code["text"] = key
        elif key == "Enter":
            code["text"] = "\r"
        for _ in range(times):
            self.call("Input.dispatchKeyEvent", type="keyDown", **code)
            self.call("Input.dispatchKeyEvent", type="keyUp", **{name: code[name] for name in code if name != "text"})
        self.settle()

    def type(self, text):
        for letter in text:
            self.press(letter)

    def focused(self):
        """What has the keyboard: its id, else its text."""
        return self.run("document.activeElement.id || document.activeElement.textContent.trim()")

    def media(self, scheme="light", media=""):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.settle()

    def picture(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def paper(self, path):
        sheet = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        Path(path).write_bytes(base64.b64decode(sheet["data"]))
