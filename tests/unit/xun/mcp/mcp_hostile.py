"""An MCP server that does all that a server should not; over standard streams, without the package mcp."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

OUT = sys.stdout.buffer
OBJECT = {"type": "object"}
CALLS = [
    "twice",
    "strange",
    "noise",
    "nothing",
    "surrogate",
    "deep",
    "batch",
    "busy",
    "childish",
    "hold",
    "big",
    "misfit",
    "link",
    "progress",
]
LISTS: dict[str, list[Any]] = {
    "schemas": [
        {"name": "plain"},
        {"name": "typeless", "inputSchema": {"properties": {"a": {"type": "string"}}}},
        {"name": "either", "inputSchema": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}},
        {"name": "draft3", "inputSchema": {**OBJECT, "properties": {"a": {"type": "string", "required": True}}}},
        {"name": "ecma", "inputSchema": {**OBJECT, "properties": {"a": {"pattern": "(?<n>\\p{L})"}}}},
        {"name": "slow", "inputSchema": {**OBJECT, "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}},
        {"name": "keys", "inputSchema": {**OBJECT, "patternProperties": {"^x": {}}, "additionalProperties": False}},
        {"name": "nowhere", "inputSchema": {**OBJECT, "properties": {"a": {"$ref": "#/$defs/none"}}}},
        {"name": "list", "inputSchema": {"type": "array"}},
        {"name": 5, "inputSchema": OBJECT},
        {"name": "odd", "inputSchema": OBJECT, "outputSchema": {"type": "array"}, "annotations": "none"},
        {"name": "huge", "inputSchema": {**OBJECT, "properties": {f"p{n}": {"type": "string"} for n in range(3000)}}},
        {"name": "wordy", "inputSchema": {**OBJECT, "properties": {"a": {"description": "x" * 40_000}}}},
    ],
    "names": [{"name": name, "inputSchema": OBJECT} for name in ("a.b", "a_b", "é", "è", "a.b", "")],
    "talk": [{"name": "talk", "description": "I" * 100_000, "inputSchema": OBJECT}],
}


def put(message: dict[str, Any]) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode())


def raw(line: bytes) -> None:
    OUT.write(line + b"\n")
    OUT.flush()


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def call(number: int, name: str, params: dict[str, Any]) -> None:
    head = b'{"jsonrpc":"2.0","id":%d,"result":' % number
    if name == "twice":
        put({"id": number, "result": text("one")})
    if name == "strange":
        put({"id": 9999, "result": {}})
        put({"id": "x", "error": {"code": 1, "message": "no"}})
        raw(b'{"jsonrpc":"1.0","id":true,"result":{}}')
    if name == "noise":
        raw(b'listening on \xff\xfe...\n{"level": "info"}\n[1, 2]\nnull\n')
    if name == "nothing":
        return put({"id": number, "result": "hello"})
    if name == "surrogate":
        return raw(head + rb'{"content":[{"type":"text","text":"a\ud800b"}]}}')
    if name == "deep":
        return raw(head + b'{"content":[],"structuredContent":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}}}")
    if name == "batch":
        return raw(b"[" + json.dumps({"jsonrpc": "2.0", "id": number, "result": text("ok")}).encode() + b"]")
    if name == "busy":
        return put({"id": number, "error": {"code": -32000, "message": "the database is busy"}})
    if name == "childish":
        subprocess.Popen(["sleep", "60"])  # it holds the output open
        os._exit(1)
    if name == "hold":
        child = subprocess.Popen(["setsid", "sleep", "60"])
        return put({"id": number, "result": text(str(child.pid))})
    if name == "big":
        return put({"id": number, "result": text("x" * 3_000_000)})
    if name == "misfit":
        return put({"id": number, "result": {**text("7 degrees"), "structuredContent": {"degrees": "seven"}}})
    if name == "link":
        link = {"type": "resource_link", "uri": "file:///a", "name": "A", "description": "the first"}
        return put(
            {"id": number, "result": {"content": [link, {"type": "audio", "data": "", "mimeType": "audio/wav"}]}}
        )
    if name == "progress":
        told = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "total": 3, "message": "reading"}
        put({"method": "notifications/progress", "params": told})
        time.sleep(0.05)
    return put({"id": number, "result": text("ok")})


def tools(mode: str) -> list[Any]:
    if mode in LISTS:
        return LISTS[mode]
    degrees = {"type": "object", "properties": {"degrees": {"type": "number"}}}
    return [
        {"name": name, "inputSchema": OBJECT, "annotations": {"readOnlyHint": True}}
        | ({"outputSchema": degrees} if name == "misfit" else {})
        for name in CALLS
    ]


def main(mode: str) -> None:
    begun = False
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if number is None or method is None:
            continue
        if not begun and method != "initialize":
            sys.exit(f"the first message must be initialize, not {method}")
        if method == "initialize":
            begun = True
            about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "hostile", "version": "1"}}
            put({"id": number, "result": {"protocolVersion": message["params"]["protocolVersion"], **about}})
        elif method == "tools/list":
            page = {"tools": tools(mode)} | ({"nextCursor": "again"} if mode == "endless" else {})
            put({"id": number, "result": page})
        elif method == "tools/call":
            call(number, message["params"]["name"], message["params"])
        else:
            put({"id": number, "error": {"code": -32601, "message": "no such method"}})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
