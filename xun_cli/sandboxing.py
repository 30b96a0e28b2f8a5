"""The sandbox of a session: what the settings ask for, and what a person is shown of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from xun.environment.confinement import has_network, wall_of
from xun.errors import ConfigError, XunError

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.environment.base import Environment
    from xun_cli.settings import Settings

_OLDEST = 4
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
_ASK_SECONDS = 5.0
_SHORT = {"bubblewrap": "bwrap", "landlock": "landlock", "container": "container"}


def put_in_sandbox(agent: Agent[Any], settings: Settings) -> None:
    """Give *agent* the environment that the settings ask for; it ends with the agent."""
    from xun.environment.local import BASH, LocalEnvironment

    shell = checked_shell(settings.bash.shell, agent.workspace.roots)
    if settings.sandbox.mode == "off" and shell == BASH:
        return
    environment: Environment
    if settings.sandbox.mode == "off":
        environment = LocalEnvironment(agent.workspace, shell=shell)
    else:
        from xun.environment.sandbox import SandboxEnvironment

        environment = SandboxEnvironment(
            agent.workspace,
            mode="required" if settings.sandbox.mode == "required" else "auto",
            network=settings.sandbox.network,
            writable=settings.sandbox.writable,
            shell=shell,
        )

    def close(ended: Agent[Any]) -> None:
        if ended is agent:
            environment.close()

    agent.config.environment = environment
    agent.hooks.before_finalize.add(close)


def checked_shell(path: str, roots: Sequence[str]) -> str:
    """Return the bash that runs commands: *path*, or that of the system when it is "".

    It is asked for its version: commands are judged as bash reads them, and another shell may read them otherwise.

    Raises:
        ConfigError: There is none, it is no bash or an old one, or it lies where it could be replaced: in a folder
            of the agent, or in one for temporary files, which the sandbox does not show either.
    """
    import subprocess
    import tempfile

    from xun.environment.local import BASH
    from xun_policies.shell.environment import child_environment

    if not path:
        return BASH
    places = (os.path.realpath(path), os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)))
    for root in (*roots, *_TEMPORARY, tempfile.gettempdir()):
        if any(place.startswith(f"{root.rstrip('/')}/") for place in places):
            raise ConfigError(f'bash.shell: "{path}" lies in {root}, where it could be replaced; name one elsewhere')
    try:
        words = [path, "--noprofile", "--norc", "-c", 'printf "%s" "$BASH_VERSION"']
        done = subprocess.run(
            words,
            env=child_environment(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        cause = (error.strerror if isinstance(error, OSError) else None) or "it does not answer"
        raise ConfigError(f'bash.shell: "{path}" can\'t be started: {cause}') from None
    version = done.stdout.decode("ascii", "replace").partition(".")[0]
    if os.path.basename(path) != "bash" or not version.isdigit():
        raise ConfigError(
            f'bash.shell: "{path}" is no bash; commands are judged as bash reads them, so no other shell runs them'
        )
    if int(version) < _OLDEST:
        raise ConfigError(f'bash.shell: "{path}" is bash {version}; it has to be of version {_OLDEST} or newer')
    return path


def notice(agent: Agent[Any]) -> str:
    """Return what a person has to know at the start, "" when there is nothing; the wall is tried now."""
    environment = agent.environment
    mode = getattr(environment, "mode", "")
    if not mode:
        return ""
    try:
        if wall_of(environment) != "none":
            return ""
    except XunError as error:
        return f"No command will run: {error}"
    reason = getattr(environment, "reason", "")
    if mode == "required":
        return f"A sandbox is required, and this machine has none, so no command will run: {reason}"
    return f"Commands run without a sandbox: {reason} `xun --sandbox off` asks for that."


def sandbox_mark(agent: Agent[Any] | None) -> tuple[str, Literal["dim", "bad"]]:
    """Return what the status line says of the sandbox, and how; the wall is not tried for it."""
    if agent is None:
        return "", "dim"
    environment = agent.environment
    if environment.name == "local":
        return "sandbox off", "dim"
    if getattr(environment, "known", True) is False:
        # It was tried when the session was built.
        return "sandbox fails", "bad"
    wall = wall_of(environment)
    return (_SHORT.get(wall, wall), "dim") if wall != "none" else ("no sandbox", "bad")


def sandbox_line(agent: Agent[Any]) -> str:
    """Return one line about the sandbox, for ``/status``."""
    environment = agent.environment
    if environment.name == "local":
        return "off: commands can do all that you can"
    try:
        wall, reason = wall_of(environment), str(getattr(environment, "reason", ""))
    except XunError as error:
        return str(error)
    if wall == "none":
        return f"none: {reason}".rstrip(": ")
    network = "open" if has_network(environment) else "for approved commands"
    return f"{wall}, network {network}" + (f" ({reason})" if wall != "bubblewrap" and reason else "")
