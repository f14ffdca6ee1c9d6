"""A page in headless Chromium, controlled through the pipe of its debugging protocol
(--remote-debugging-pipe: JSON ended by a zero byte, input on descriptor 3, output on 4), so that no
WebSocket library is needed. Linux only."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SECONDS = 60


class Browser:
    """A browser. `complaints` has the console's errors and warnings, exceptions, and refused or
    failed loads; `requests` has every requested address."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory()
        to_read, self.into = os.pipe()
        self.out, to_write = os.pipe()
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
                   f"--user-data-dir={self.profile.name}", "about:blank"]
        # The shell moves the pipe to the descriptors that Chromium uses; otherwise the pipes
        # themselves may occupy descriptors 0 and 1.
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "sh",
                                         *command], pass_fds=(to_read, to_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.number, self.session, self.complaints, self.requests = b"", 0, None, [], []
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] ==
                      "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"],
                                flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(SECONDS)
        os.close(self.into)
        os.close(self.out)
        # Chromium's helpers may still write there for a moment.
        shutil.rmtree(self.profile.name, ignore_errors=True)
        self.profile._finalizer.detach()

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        until = time.monotonic() + SECONDS
        while b"\0" not in self.rest:
            if not select.select([self.out], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("chromium does not answer")
            piece = os.read(self.out, 1 << 20)
            if not piece:
                raise RuntimeError("chromium has ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        self.note(message.get("method"), message.get("params"))
        return message

    def note(self, method, params):
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning",
                "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a
                                            in params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def prefer(self, scheme):
        """Sets the colour scheme that pages are told the reader prefers: "light" or "dark"."""
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, file, width, height=900):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=file.resolve().as_uri())

    def evaluate(self, expression):
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait_for(self, expression):
        until = time.monotonic() + SECONDS
        while not self.evaluate(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"never true: {expression}; {self.complaints}")
            time.sleep(0.05)

    def screenshot(self, file):
        """Saves a screenshot of the whole page, for a person to look at."""
        size = self.evaluate(
                "[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                        clip={"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1})
        file.write_bytes(base64.b64decode(shot["data"]))
