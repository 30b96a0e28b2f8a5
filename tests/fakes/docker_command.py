"""A docker command for tests: writes down what it is asked, and runs what goes into a container on this machine.

Files beside the installed script change what it does: ``down`` (no engine), ``no-image`` (the image can't be had),
``gone`` (the container does not answer).
"""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path


def install(folder: Path) -> Path:
    """Put the script ``docker`` into *folder* and return its log, a JSON array a line."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "docker"
    script.write_text(f"#!{sys.executable} -I\n{Path(__file__).read_text()}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return folder / "log"


def _execute(words: list[str]) -> None:
    env = {"PATH": os.environ.get("PATH", os.defpath), "IN_CONTAINER": "1"}
    cwd = "/"
    while words[0].startswith("--"):
        option = words.pop(0)
        if option == "--workdir":
            cwd = words.pop(0)
        elif option == "--env":
            name, given, value = words.pop(0).partition("=")
            env[name] = value if given else os.environ[name]
    os.chdir(cwd)
    command = words[1:]
    # What runs in a container is no child of the client: it does not end with it.
    if os.fork():
        _, status = os.wait()
        sys.exit(os.waitstatus_to_exitcode(status) % 256)
    os.setsid()
    os.execvpe(command[0], command, env)


def main() -> None:
    """Act as the docker client."""
    folder = Path(__file__).parent
    words = sys.argv[1:]
    with (folder / "log").open("a") as log:
        log.write(json.dumps(words) + "\n")
    if words[0] == "version" and (folder / "down").exists():
        sys.exit("Cannot connect to the Docker daemon at unix:///nowhere.sock. Is the docker daemon running?")
    if words[0] == "run":
        if (folder / "no-image").exists():
            sys.exit("Unable to find image 'none:1' locally")
        name = folder / words[words.index("--name") + 1]
        name.touch()
        sys.stdin.read()  # what the container runs: it waits for the end of its input
        name.unlink(missing_ok=True)
    if words[:2] == ["container", "inspect"]:
        print("true" if (folder / words[-1]).exists() else "")
    if words[0] == "exec":
        if (folder / "gone").exists():
            sys.exit("Error response from daemon: No such container")
        _execute(words[1:])


if __name__ == "__main__":
    main()
