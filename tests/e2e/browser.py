"""A headless Chromium, driven through chromedriver by plain W3C WebDriver requests.

    with Browser(1280, 800) as browser:
        browser.open(path)
        browser.run("return document.title")

Raises harness.Skip when chromium or chromedriver is not installed.
"""

import base64
import json
import os
import pathlib
import shutil
import socket
import urllib.error
import urllib.request

import harness

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Backspace": "\ue003", "Home": "\ue011", "Tab": "\ue004",
        "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    def __init__(self, width=1280, height=800):
        driver = shutil.which("chromedriver")
        chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if driver is None or chromium is None:
            raise harness.Skip("chromium and chromedriver (packages chromium, chromium-driver) are not installed")
        self.width, self.height = width, height
        self.home = harness.scratch()
        port = _free_port()
        self.driver = harness.Child([driver, f"--port={port}", "--allowed-ips=127.0.0.1"],
                                    env={**os.environ, "HOME": str(self.home)})
        self.base = f"http://127.0.0.1:{port}"
        try:
            harness.wait_for(self._ready, "chromedriver to answer")
            arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         "--force-device-scale-factor=1", f"--window-size={width},{height}",
                         f"--user-data-dir={self.home}/profile"]
            if os.geteuid() == 0:
                arguments.append("--no-sandbox")
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": {"binary": chromium, "args": arguments},
                "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = f"/session/{made['sessionId']}"
            self._viewport()
        except BaseException:
            self.driver.kill()
            raise

    def _ready(self):
        try:
            return self._ask("GET", "/status")["ready"]
        except (urllib.error.URLError, ConnectionError):
            return False

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120 * harness.TIME_FACTOR) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise harness.Failure(f"WebDriver {path}: {error.read().decode()[:600]}") from None

    def _viewport(self):
        """The window has no frame in headless mode in some versions and one in others."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=self.width, height=self.height,
                      deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        try:
            self._ask("DELETE", self.session)
        except (urllib.error.URLError, harness.Failure):
            pass
        self.driver.kill()

    def devtools(self, command, **parameters):
        return self._ask("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def colour_scheme(self, scheme):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        self._ask("POST", self.session + "/url", {"url": pathlib.Path(path).resolve().as_uri()})

    def run(self, script, *arguments):
        return self._ask("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The script calls its last argument with the result."""
        return self._ask("POST", self.session + "/execute/async", {"script": script, "args": list(arguments)})

    def element(self, selector):
        found = self._ask("POST", self.session + "/element", {"using": "css selector", "value": selector})
        return found[ELEMENT]

    def click(self, selector):
        self._ask("POST", f"{self.session}/element/{self.element(selector)}/click", {})

    def _actions(self, kind, actions, **more):
        self._ask("POST", self.session + "/actions", {"actions": [
            {"type": kind, "id": kind, "actions": actions, **more}]})

    def move_to(self, x, y):
        self._actions("pointer", [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}],
                      parameters={"pointerType": "mouse"})

    def click_at(self, x, y):
        self._actions("pointer", [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0},
                                  {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}],
                      parameters={"pointerType": "mouse"})

    def press(self, *keys):
        """Names of keys, or texts that are typed."""
        actions = []
        for key in keys:
            for value in [KEYS[key]] if key in KEYS else key:
                actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._actions("key", actions)

    def settle(self):
        """Until what was asked for is drawn: two frames of the screen later."""
        self.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")

    def screenshot(self, path):
        self.settle()
        png = base64.b64decode(self._ask("GET", self.session + "/screenshot"))
        pathlib.Path(path).write_bytes(png)
        return png

    def errors(self):
        """What the page wrote to its console as errors since the last call."""
        entries = self._ask("POST", self.session + "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def colours(self, png):
        """(number of different colours, share of the most common one) of a picture."""
        self._ask("POST", self.session + "/url", {"url": "about:blank"})
        return tuple(self.run_async("""
            const [data, done] = arguments;
            const picture = new Image();
            picture.onload = () => {
              const canvas = document.createElement('canvas');
              canvas.width = picture.width;
              canvas.height = picture.height;
              const context = canvas.getContext('2d');
              context.drawImage(picture, 0, 0);
              const pixels = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
              const counts = new Map();
              for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
              done([counts.size, Math.max(...counts.values()) / pixels.length]);
            };
            picture.src = 'data:image/png;base64,' + data;
            """, base64.b64encode(png).decode()))
