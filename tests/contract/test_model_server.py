"""The fake model server as a process of its own, as the end-to-end tests use it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from xun.messages import Message
from xun.models import OpenAIModel
from xun.models.base import ModelRequest

SERVER = Path(__file__).parents[1] / "fakes" / "model_server.py"


async def test_it_serves_a_script_until_it_is_told_to_stop(tmp_path):
    script, port_file, log = tmp_path / "s.json", tmp_path / "port", tmp_path / "log"
    script.write_text(json.dumps({"turns": [{"text": "hello"}], "risk": [{"verdict": "allow"}]}))
    command = [sys.executable, SERVER, "--script", script, "--port-file", port_file, "--model", "m1", "--log", log]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 10
            while not port_file.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            url = f"http://127.0.0.1:{int(port_file.read_text())}/v1"
            model = OpenAIModel(base_url=url, api_key="")
            request = ModelRequest([Message("user", "hi")])
            assert [event async for event in model.stream(request)][-1].text == "hello"
            assert model.name == "m1"
            await model.aclose()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == f"{url}\n"
    assert process.returncode == 0
    requests = [json.loads(line) for line in log.read_text().splitlines()]
    assert [item["path"] for item in requests] == ["/v1/models", "/v1/chat/completions"]
    assert requests[1]["body"]["messages"] == [{"role": "user", "content": "hi"}]
