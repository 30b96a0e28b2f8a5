"""A language server for tests: lines with ``BAD`` are errors, with ``ODD`` warnings, with ``NOTE`` hints.

A line ``NEEDS name`` is an error as long as there is no file of that name beside it. Run as a program with the words of
`MODES` that change how it behaves; it writes what it was asked to the file that
``--log`` names.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any
from urllib.parse import unquote, urlsplit

MODES = (
    "crash-at-start",
    "crash-at-file",
    "silent",
    "no-version",
    "junk",
    "slow",
    "early-empty",
    "stays",
    "noisy",
    "refuses",
)


class Server:
    def __init__(self, modes: list[str], log: str) -> None:
        self.modes, self.log = modes, log
        self.texts: dict[str, tuple[int, str]] = {}

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\r\nContent-Type: x\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()

    def read(self) -> dict[str, Any] | None:
        length = 0
        while line := sys.stdin.buffer.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = sys.stdin.buffer.read(length) if length else b""
        return json.loads(body) if body else None

    def note(self, **row: Any) -> None:
        with open(self.log, "a") as file:
            file.write(json.dumps(row) + "\n")

    def publish(self, uri: str, version: int, findings: list[dict[str, Any]]) -> None:
        params: dict[str, Any] = {"uri": uri.replace("a", "%61", 1), "diagnostics": findings}
        if "no-version" not in self.modes:
            params["version"] = version
        self.send(method="textDocument/publishDiagnostics", params=params)

    def look(self, uri: str, version: int, text: str) -> None:
        if "crash-at-file" in self.modes:
            sys.stderr.write("it fell over\n")
            sys.exit(3)
        if "silent" in self.modes:
            return
        if "early-empty" in self.modes:
            self.publish(uri, version, [])
            time.sleep(0.1)
        if "slow" in self.modes:
            time.sleep(1)
        found = []
        beside = os.path.dirname(unquote(urlsplit(uri).path))
        for number, line in enumerate(text.split("\n")):
            needed = line.partition("NEEDS ")[2].strip()
            if needed and not os.path.exists(os.path.join(beside, needed)):
                start = {"line": number, "character": 0}
                place = {"start": start, "end": start}
                found.append({"range": place, "severity": 1, "message": f"no {needed}", "code": "NEEDS"})
            for word, severity in (("BAD", 1), ("ODD", 2), ("NOTE", 4)):
                if word in line:
                    start = {"line": number, "character": line.index(word)}
                    place = {"start": start, "end": start}
                    said = f"{word.lower()}\n thing: {line.strip()}"
                    found.append(
                        {"range": place, "severity": severity, "message": said, "code": word, "source": "fake"}
                    )
        self.publish(uri, version, found)

    def handle(self, message: dict[str, Any]) -> None:
        method, number, params = message.get("method"), message.get("id"), message.get("params")
        if method == "initialize":
            self.note(initialize=params)
            if "refuses" in self.modes:
                self.send(id=number, error={"code": -1, "message": "not today"})
                return
            self.send(id=number, result={"capabilities": {"textDocumentSync": 1}})
            self.send(
                id="s1", method="workspace/configuration", params={"items": [{"section": "pylsp.plugins.pylint"}]}
            )
            self.send(id="s2", method="client/registerCapability", params={})
            self.send(id="s3", method="workspace/applyEdit", params={})
        elif method in ("textDocument/didOpen", "textDocument/didChange"):
            document = params["textDocument"]
            text = document["text"] if "text" in document else params["contentChanges"][0]["text"]
            self.note(method=method, uri=document["uri"], version=document["version"])
            self.texts[document["uri"]] = document["version"], text
            self.look(document["uri"], document["version"], text)
        elif method == "textDocument/didClose":
            self.note(method=method, uri=params["textDocument"]["uri"])
            self.texts.pop(params["textDocument"]["uri"])
        elif method == "workspace/didChangeWatchedFiles":
            self.note(method=method, changes=params["changes"])
            for uri, (version, text) in self.texts.items():
                self.look(uri, version, text)
        elif method == "shutdown":
            self.note(method=method)
            if "stays" not in self.modes:
                self.send(id=number, result=None)
        elif method == "exit" and "stays" not in self.modes:
            sys.exit(0)
        elif method is None:
            self.note(answer=number, result=message.get("result"), error=message.get("error"))
        elif number is not None:
            self.send(id=number, error={"code": -32601, "message": "unknown"})

    def run(self) -> None:
        if "crash-at-start" in self.modes:
            sys.stderr.write("no module named that\n")
            sys.exit(1)
        if "junk" in self.modes:
            sys.stdout.write("hello, I am no server\r\n\r\nreally\n" * 20)
            sys.stdout.flush()
            time.sleep(30)
        if "noisy" in self.modes:
            sys.stderr.write("x" * 1_000_000)
        while (message := self.read()) is not None:
            self.handle(message)


if __name__ == "__main__":
    place = sys.argv.index("--log")
    Server(sys.argv[1:place], sys.argv[place + 1]).run()
