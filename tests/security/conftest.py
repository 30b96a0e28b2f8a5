"""Rows of `tests/corpus/security.jsonl` as tests.

How to use it: mark each test with the rows that it runs, ``@pytest.mark.row("sec-git-001", "sec-git-002")``, on the
function or on one ``pytest.param(..., marks=pytest.mark.row(...))``; build what the row's `setup` says, do its `action`
by the real tools (`ToolBox.call_tool`), assert its `expect`, then try its siblings. When every row of an area has a
test, add the area to CLAIMED in `test_every_row.py`: from then on a row without a test fails there.
A test that takes the fixture `room` runs twice when the user is root: as root, and as an ordinary user.
"""
