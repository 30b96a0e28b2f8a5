from __future__ import annotations

import logging
import warnings

import pytest

from xun_cli.log import configure_log
from xun_cli.places import Places


@pytest.fixture(autouse=True)
def restored():
    logger, others = logging.getLogger("xun"), logging.getLogger()
    before, beside = (list(logger.handlers), logger.propagate, logger.level), list(others.handlers)
    logging.captureWarnings(False)
    yield
    logging.captureWarnings(False)
    for handler in logger.handlers:
        handler.close()
    logger.handlers, logger.propagate, logger.level = before
    others.handlers = beside


def test_records_go_to_a_private_file_and_not_to_the_terminal(tmp_path, capfd):
    places = Places(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "k")
    configure_log(places, debug=False)
    assert not places.log_file.exists(), "made at the first record"
    logging.getLogger("xun.hooks").error("something broke")
    assert "something broke" in places.log_file.read_text()
    assert places.log_file.stat().st_mode & 0o777 == 0o600
    assert capfd.readouterr() == ("", "")


def test_warnings_of_libraries_go_there_too_and_once(tmp_path):
    places = Places(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "k")
    for _ in range(2):
        configure_log(places, debug=False)
    logging.getLogger("mcp.client").warning("the server said something")
    logging.getLogger("mcp.client").info("a detail")
    assert places.log_file.read_text().count("the server said something") == 1
    assert "a detail" not in places.log_file.read_text()


def test_warnings_of_python_go_there_too(tmp_path, capfd):
    places = Places(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "k")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure_log(places, debug=False)
        warnings.warn("an old way", RuntimeWarning, stacklevel=1)
    assert "an old way" in places.log_file.read_text()
    assert capfd.readouterr() == ("", "")


def test_a_state_folder_that_can_not_be_made_is_no_reason_to_fail(tmp_path, capfd):
    (tmp_path / "file").write_text("")
    configure_log(Places(tmp_path, tmp_path, tmp_path / "file" / "s", tmp_path), debug=True)
    logging.getLogger("xun").error("lost")
    assert capfd.readouterr() == ("", "")
