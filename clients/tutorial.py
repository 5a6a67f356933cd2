#!/usr/bin/env python3
"""tutorial.py PAGE PROGRAM: carries out what a tutorial's page says, and checks what it says comes of it.

The page marks its blocks with comments: `write: NAME` a file, `start: URL` a command that stays, until the URL answers, `run` a command, `prints: run`
lines that the command before has printed (`…` stands for anything), `ledger: NAME=NUMBER…` what the stand-in's ledger counts. PROGRAM is the
file that may have thirty lines at the most. Ports are exchanged for free ones, everywhere alike. Works in the current folder.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

LINES_MAX = 30
_BLOCK = re.compile(r"<!-- (write|start|run|prints|ledger)(?:: ([^\n]*?))? -->\n(?:```\w*\n(.*?)```\n)?", re.DOTALL)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


class Tutorial:
    """One pass through a page."""

    def __init__(self, program):
        self.program, self.children, self.environment, self.printed = program, [], dict(os.environ), ""
        self.ports = {port: free_port() for port in ("7420", "7430", "7431")}

    def on_free_ports(self, text):
        return re.sub(r"127\.0\.0\.1:(7420|7430|7431)\b", lambda found: f"127.0.0.1:{self.ports[found.group(1)]}", text)

    def write(self, name, text):
        if name == self.program:
            lines = [line for line in text.splitlines() if line.strip()]
            assert len(lines) <= LINES_MAX, f"{name} has {len(lines)} lines, {LINES_MAX} are promised"
        if name == "factum.toml":
            text = 'server.listen = "127.0.0.1:7420"\n' + text
        Path(name).write_text(self.on_free_ports(text))

    def start(self, url, text):
        text = text.replace("factum testbed ", "factum testbed --listen 127.0.0.1:7430 --admin-listen 127.0.0.1:7431 ")
        said = Path(f"log-{len(self.children)}")
        with said.open("wb") as log:
            self.children.append(subprocess.Popen(["bash", "-c", "exec env " + self.on_free_ports(text).strip()], stdout=log, stderr=log))
        end = time.monotonic() + 60
        while not self.answers(self.on_free_ports(url)):
            assert time.monotonic() < end, f"{text.strip()} does not answer: {said.read_text()}"
            time.sleep(0.1)

    @staticmethod
    def answers(url):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError as error:
            return error.code < 500
        except OSError:
            return False
        return True

    def run(self, _, text):
        """Runs a command; what it exports, the next ones see, as in a terminal."""
        self.environment.setdefault("FACTUM_URL", self.on_free_ports("http://127.0.0.1:7420"))
        script = f"set -e\n{self.on_free_ports(text)}\nenv -0 >environment\n"
        done = subprocess.run(["bash", "-c", script], env=self.environment, text=True, capture_output=True, timeout=300, check=False)
        print(done.stdout, end="")
        assert done.returncode == 0, f"{text.strip()} ended with {done.returncode}: {done.stderr}"
        self.printed = done.stdout
        self.environment = dict(pair.split("=", 1) for pair in Path("environment").read_text().split("\0") if pair)

    def prints(self, _, text):
        for line in text.splitlines():
            wanted = ".*".join(re.escape(part) for part in line.split("…"))
            assert re.search(f"^{wanted}$", self.printed, re.MULTILINE), f"nothing was printed like {line!r}"

    def ledger(self, counts, _):
        with urllib.request.urlopen(self.on_free_ports("http://127.0.0.1:7431/ledger/counts"), timeout=10) as answer:
            counted = json.load(answer)
        for name, number in (pair.split("=") for pair in counts.split()):
            assert counted[name] == int(number), f"{name} is {counted[name]} and not {number}: {counted}"

    def end(self):
        for child in reversed(self.children):
            child.terminate()
            child.wait(20)


def main(page, program):
    tutorial, done = Tutorial(program), []
    try:
        for kind, what, text in _BLOCK.findall(Path(page).read_text()):
            getattr(tutorial, kind)(what, text)
            done.append(kind)
    finally:
        tutorial.end()
    assert {"write", "start", "run", "prints", "ledger"} <= set(done), f"{page} has no whole story: {done}"
    print(f"{page}: {len(done)} steps")


if __name__ == "__main__":
    main(*sys.argv[1:])
