"""What a command sees behind the wall, and who can let it out."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.fakes.persons import Person
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment import BubblewrapEnvironment, LocalEnvironment
from xun.environment.confinement import Confinement, in_view, wall_of
from xun.models import ScriptedModel
from xun_builtin_tools.cmd.walled import ended, note
from xun_builtin_tools.gate_confining import confine


class Walled(LocalEnvironment):
    """Says that it has a wall, runs everything here, and notes each command with its view."""

    name = "sandbox"
    reason = "for a test"

    def __init__(self, workspace: Workspace, wall: str = "bubblewrap", network: bool = False) -> None:
        super().__init__(workspace)
        self.wall, self.network, self.view = wall, network, "closed"
        self.ran: list[tuple[str, Any]] = []

    def seen_as(self, view: str) -> Walled:
        other = copy.copy(self)
        other.view = view
        return other

    def spawn(self, command, **options):
        self.ran.append((self.view, command))
        return super().spawn("true" if isinstance(command, str) else command, **options)

    def run_code(self, code, **options):
        self.ran.append((self.view, code))


class Setting:
    def __init__(self, tmp_path, person=None, *, risk: str = "", wall: str = "bubblewrap", network=False, **config):
        self.workspace = Workspace(tmp_path)
        self.environment = Walled(self.workspace, wall, network)
        self.person = person
        model = ScriptedModel([], risk=[{"verdict": risk, "reason": "r"}] * 9) if risk else None
        made = AgentConfig(environment=self.environment, risk_enabled=bool(risk), **config)
        toolbox = ToolBox().with_defaults("cmd", "code")
        self.agent: Agent[Any] = Agent(
            toolbox=toolbox, workspace=self.workspace, chooser=person, config=made, model=model
        ).initialize()

    def call(self, tool: str = "bash", **arguments: Any) -> Any:
        return self.agent.toolbox.call_tool(self.agent, tool, arguments, None)

    def view_of(self, command: str, **arguments: Any) -> str:
        result = self.call(command=command, **arguments)
        assert result.is_ok(), result.unwrap_err().error
        return self.environment.ran[-1][0]

    def close(self) -> None:
        self.agent.finalize()
        self.environment.close()
        self.workspace.close()


@pytest.fixture
def setting(tmp_path):
    made: list[Setting] = []

    def make(*arguments: Any, **options: Any) -> Setting:
        made.append(Setting(tmp_path, *arguments, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize(
    ("command", "view"),
    [
        ("ls", "reading"),
        ("git status && rg x | head", "reading"),
        ("python3 --version", "closed"),
        ("pytest -q", "closed"),
        ("python -m pytest | tail -3", "closed"),
        ("ps aux", "machine"),
        ("ps aux | grep x | head -3", "machine"),
        ("df -h && uptime", "machine"),
        ("journalctl -n 5", "machine"),
        ("pytest -q; ps", "closed"),  # pytest runs what the project holds
        ("git status; ps", "reading"),
        ("curl -s http://127.0.0.1:8000/", "network"),
        ("curl -s http://localhost/ | jq .", "network"),
        ("curl -s http://localhost/; pytest", "closed"),
    ],
)
def test_what_the_built_in_list_allows_sees_only_what_it_is_about(setting, command, view):
    here = setting(Person("deny"))
    assert here.view_of(command) == view and here.person.asked == []


@pytest.mark.parametrize(
    ("command", "view"),
    [
        ("pip install x", "network"),
        ("make", "network"),
        ("lsof -i :80", "machine"),
        ("ss -ltn | wc -l", "machine"),
        ("lsof -i :80; make", "network"),
        ("systemctl status x", "machine"),
        ("systemctl --user status x", "machine"),
        ("systemctl start x", "network"),
        ("ps aux > list", "network"),
        ("lsof $(id)", "network"),
    ],
)
def test_what_a_person_approves_now_has_the_network(setting, command, view):
    here = setting(Person("once"))
    assert here.view_of(command) == view and len(here.person.asked) == 1


def test_what_a_person_granted_has_the_network(setting):
    here = setting(Person("deny"))
    here.agent.policy.command_allowlist.add(["npm", "test"])
    assert here.view_of("npm test") == "network"
    assert here.view_of("npm test && git status") == "network"
    assert here.view_of("git status") == "reading"
    assert here.person.asked == []


def test_the_risk_assessment_opens_nothing(setting):
    here = setting(Person("deny"), risk="allow")
    assert here.view_of("make") == "closed"
    assert here.view_of("lsof") == "closed"
    assert here.person.asked == []


@pytest.mark.parametrize("rule", ["auto_confirm", "auto N"])
def test_a_rule_in_a_persons_place_opens_nothing(setting, rule):
    here = setting(None, auto_confirm=rule == "auto_confirm")
    here.agent.policy.auto_remaining = 0 if rule == "auto_confirm" else 1
    assert here.view_of("make") == "closed"


def test_the_setting_opens_the_network_for_all(setting):
    here = setting(Person("once"), network=True)
    assert here.view_of("pytest") == "network" and here.view_of("ls") == "reading"
    assert here.view_of("ls", sandbox="network") == "network" and here.person.asked == []


@pytest.mark.parametrize(("sandbox", "view", "default"), [("network", "network", "once"), ("off", "outside", "deny")])
@pytest.mark.parametrize("command", ["ls", "make", "granted"])
def test_more_than_the_sandbox_is_asked_about_each_time(setting, sandbox, view, default, command):
    here = setting(Person("grant"), risk="allow")
    here.agent.policy.command_allowlist.add(["granted"])
    here.agent.policy.auto_remaining = 5
    for times in (1, 2):
        assert here.view_of(command, sandbox=sandbox) == view
        assert len(here.person.asked) == times
    asked = here.person.asked[-1]
    assert asked.default == default and not asked.options[0].available
    assert ("leaves the sandbox" if sandbox == "off" else "asks for the network") in asked.message
    assert here.agent.policy.auto_remaining == 5 and len(here.agent.policy.command_allowlist) == 1


@pytest.mark.parametrize("tool", ["bash", "bash_spawn"])
def test_the_next_command_is_inside_again(setting, tool):
    here = setting(Person("once"))
    here.call(tool, command="ls", sandbox="off")
    here.call(tool, command="ls")
    assert [view for view, _ in here.environment.ran] == ["outside", "reading"]


@pytest.mark.parametrize("sandbox", ["network", "off"])
@pytest.mark.parametrize("who", ["nobody", "user"])
def test_a_denial_names_what_was_denied(setting, sandbox, who):
    here = setting(None if who == "nobody" else Person("deny", reason="no"))
    here.agent.policy.command_allowlist.add(["make"])
    result = here.call(command="make", sandbox=sandbox)
    what = {"network": "use of the network", "off": "way out of the sandbox"}[sandbox]
    assert result.status == "denied" and what in result.unwrap_err().error and here.environment.ran == []


def test_auto_confirm_answers_no_to_leaving_and_yes_to_the_network(setting):
    here = setting(None, auto_confirm=True)
    assert "only a person" in here.call(command="ls", sandbox="off").unwrap_err().error
    assert here.view_of("ls", sandbox="network") == "network"


def test_an_edited_command_keeps_what_was_approved_for_it(setting):
    for sandbox, view in (("off", "outside"), ("network", "network")):
        here = setting(Person("once", edited="echo edited"))
        assert here.view_of("make", sandbox=sandbox) == view
        assert here.environment.ran[-1][1] == "echo edited"


@pytest.mark.parametrize("wall", ["none", "own"])
def test_without_a_wall_the_parameter_changes_nothing(setting, tmp_path, wall):
    here = setting(Person("deny"), wall="none")
    if wall == "own":
        here.agent.config.environment = LocalEnvironment(here.workspace)
    for sandbox in ("on", "network", "off"):
        assert here.call(command="ls", sandbox=sandbox).is_ok()
    assert here.person.asked == []


def test_a_dry_run_tells_that_it_would_ask(setting):
    here = setting(Person("deny"))
    here.agent.toolbox.dry_run = True
    told = [here.call(command="ls", sandbox=sandbox).unwrap()["would_ask"] for sandbox in ("on", "network", "off")]
    assert told == [False, True, True] and here.environment.ran == []


def test_the_shell_that_stays_has_no_network(setting):
    here = setting(Person("once"))
    here.call("shell", command="make")
    assert [view for view, _ in here.environment.ran] == ["closed"]


@pytest.mark.parametrize(("risk", "view"), [("", "network"), ("allow", "closed")])
def test_code_has_the_network_when_a_person_approved_it(setting, risk, view):
    here = setting(Person("once"), risk=risk)
    here.call("run_code", code="print(1)")
    assert here.environment.ran == [(view, "print(1)")]


def test_a_sub_agent_is_where_its_parent_is(setting):
    here = setting(Person("once"))
    child = Agent(toolbox=here.agent.toolbox, workspace=here.workspace, parent=here.agent)
    assert child.environment is here.environment


def test_the_log_says_what_held_a_command(setting):
    here = setting(Person("once"))
    here.view_of("ls")
    here.view_of("make")
    here.view_of("ls", sandbox="off")
    held = [record.held for record in here.agent.policy.log]
    assert held == ["bubblewrap+reading", "bubblewrap+network", "outside"]


def test_environments_without_views_are_used_as_they_are(tmp_path):
    workspace = Workspace(tmp_path)
    environment = LocalEnvironment(workspace)
    assert in_view(environment, "outside") is environment and wall_of(environment) == "none"
    boxed = BubblewrapEnvironment(workspace)
    held = confine(Agent(workspace=workspace, config=AgentConfig(environment=boxed)), None, "user")
    assert held == Confinement("bubblewrap", "closed", single=True)
    assert (
        note(held, 1, "Read-only file system") == "" and note(Confinement("container", single=True), 1, "EROFS") == ""
    )
    boxed.close()
    assert not Confinement("none", "closed").held and Confinement("none").text == "none"
    workspace.close()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python3 -m http.server &", True),
        ("npm start & sleep 1; curl x", True),
        ("(sleep 9 &)", True),
        ("nohup ./serve", True),
        ("ls && pwd", False),
        ("make 2>&1 | tail", False),
        ("make &> log", False),
        ("make &>> log; echo a\\&b", False),
    ],
)
def test_what_ended_with_its_command_is_told(command, told):
    assert bool(ended(Confinement("bubblewrap", "network"), command)) == told
    for other in (Confinement("landlock"), Confinement("none"), Confinement("bubblewrap", "outside")):
        assert ended(other, command) == ""


CLOSED, OPEN = Confinement("bubblewrap"), Confinement("bubblewrap", "network")
LANDLOCK = Confinement("landlock")


@pytest.mark.parametrize(
    ("confinement", "text", "word"),
    [
        (CLOSED, "curl: (6) Could not resolve host: pypi.org", 'sandbox="network"'),
        (CLOSED, "connect: Network is unreachable", 'sandbox="network"'),
        (CLOSED, "Temporary failure in name resolution", 'sandbox="network"'),
        (CLOSED, "npm ERR! code EAI_AGAIN", 'sandbox="network"'),
        (CLOSED, "psql: error: connection to server failed: Connection refused", 'sandbox="network"'),
        (CLOSED, "ssh: Could not resolve hostname x", 'sandbox="network"'),
        (OPEN, "connect: Network is unreachable", ""),
        (CLOSED, "touch: cannot touch '/etc/x': Read-only file system", 'sandbox="off"'),
        (OPEN, "git@host: Permission denied (publickey).", 'sandbox="off"'),
        (CLOSED, "Failed to connect to bus: No such file or directory", 'sandbox="off"'),
        (CLOSED, "curl: (7) Failed to connect to x port 80", 'sandbox="network"'),
        (OPEN, "pyenv: cannot rehash: ~/.pyenv/shims isn't writable", 'sandbox="off"'),
        (OPEN, "error: could not write config file .git/config: Device or resource busy", 'sandbox="off"'),
        (OPEN, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", 'sandbox="off"'),
        (CLOSED, "bash: ./run.sh: Permission denied", ""),
        (Confinement("bubblewrap", "reading"), "Read-only file system", "the usual sandbox"),
        (Confinement("bubblewrap", "reading"), "Network is unreachable", 'sandbox="network"'),
        (LANDLOCK, "touch: cannot touch '/etc/x': Permission denied", "$TMPDIR"),
        (LANDLOCK, "bash: connect: Permission denied", 'sandbox="network"'),
        (Confinement("landlock", "network"), "touch: Permission denied", "nothing can be written"),
        (CLOSED, "bwrap: setting up uid map: Permission denied", "nothing ran"),
        (CLOSED, "AssertionError", ""),
        (Confinement("bubblewrap", "outside"), "Read-only file system", ""),
        (Confinement("none"), "Read-only file system", ""),
    ],
)
def test_a_command_that_failed_at_the_wall_is_told_so(confinement, text, word):
    said = note(confinement, 1, "", text)
    assert (word in said) if word else not said
    assert note(confinement, 0, "", text) == "" and note(confinement, None, "", text) == ""
