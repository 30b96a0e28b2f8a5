"""The scenario of `tests/e2e/scenario.py` on each front end."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import TURNS, Scenario
from tests.e2e.test_local_server import model
from tests.fakes.model_server import FakeModelServer

pytestmark = [pytest.mark.e2e]


@pytest.mark.parametrize("tui", ["inline", "full"])
def test_a_days_work(pane, project, tui):
    with FakeModelServer(TURNS) as server:
        scenario = Scenario(lambda *arguments: pane(*arguments, **model(server)), server, project, tui)
        scenario.play()
        assert not server.errors
