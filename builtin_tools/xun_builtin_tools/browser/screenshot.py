"""browser_screenshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.dry import DryRun
from xun.tools.images import defer_tool_image
from xun_builtin_tools.browser.common import open_tab
from xun_builtin_tools.edit.changes import Change, file_state, read_state
from xun_builtin_tools.edit.writing import Touched, carry_out, planned_update, require_writable, write_new
from xun_builtin_tools.fs.picturing import fitting_image
from xun_policies.workspace import current_umask

if TYPE_CHECKING:
    from playwright.async_api import FloatRect

    from xun_builtin_tools.browser.tabs import Tab

_SECONDS = 30.0


@tool_attr(
    required_capabilities=("vision",),
    deferred=True,
    sequential=True,
    search_hint="browser screenshot image picture page png see look",
)
def browser_screenshot(
    ctx: ToolCallContext[Any],
    selector: str | None = None,
    clip: tuple[float, float, float, float] | None = None,
    full_page: bool = False,
    save_to: str | None = None,
    page_id: str | None = None,
) -> dict[str, Any]:
    """Take a picture of a page; it follows as an image.

    selector takes one element; clip takes x, y, width, height, in pixels; full_page the whole page and not only the
    view: at most one of the three. save_to keeps it as a .png file too. A longer side of more than 1000 pixels is
    scaled down to 1000, not in that file. Returns page_id, url, width and height, and the original ones when scaled."""
    if sum((selector is not None, clip is not None, full_page)) > 1:
        raise ToolError("Give one of selector, clip and full_page at most.")
    if clip is not None and (min(clip) < 0 or min(clip[2:]) < 1):
        raise ToolError(f"clip must be x, y, width, height with a size of at least 1, got {list(clip)}.")
    if save_to is not None and not save_to.lower().endswith(".png"):
        raise ToolError(f"save_to must end in .png, got {save_to!r}.")
    if ctx.dry_run:
        raise DryRun({"screenshot": selector or "page", "save_to": save_to})
    session, tab = open_tab(ctx, page_id)
    data = session.call(ctx, lambda: _taken(tab, selector, clip, full_page), _SECONDS)
    header, image, width, height = fitting_image(data, "The screenshot")
    row: dict[str, Any] = {"page_id": tab.id, "url": tab.page.url, "width": width, "height": height}
    size = f"{width} x {height}"
    if (width, height) != (header.width, header.height):
        row |= {"original_width": header.width, "original_height": header.height}
        size += f", scaled down from {header.width} x {header.height}"
    if save_to is not None:
        row["saved_to"] = _save(ctx, save_to, data)
    defer_tool_image(ctx, image, f"Screenshot of {tab.page.url[:200]}, {size}")
    return row


async def _taken(
    tab: Tab, selector: str | None, clip: tuple[float, float, float, float] | None, full_page: bool
) -> bytes:
    limit = _SECONDS * 1000
    if selector is not None:
        return await tab.page.locator(selector).screenshot(timeout=limit, scale="css", animations="disabled")
    area: FloatRect | None = None
    if clip is not None:
        area = {"x": clip[0], "y": clip[1], "width": clip[2], "height": clip[3]}
    return await tab.page.screenshot(
        timeout=limit, clip=area, full_page=full_page, scale="css", animations="disabled", type="png"
    )


def _save(ctx: ToolCallContext[Any], path: str, data: bytes) -> str:
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path)
    before = read_state(workspace, resolved)
    if before.kind == "absent":
        write_new(ctx, resolved, data, 0o666 & ~current_umask())
    elif before.kind != "file":
        raise ToolError(f"{resolved.display} is no file; the picture was not saved.")
    else:
        require_writable(resolved, before)
        after = file_state(data, before.mode)
        touched = Touched(str(resolved.path), "update")
        carry_out(ctx, [Change(resolved, before, after)], [planned_update(resolved, before, after)], [touched])
    return resolved.shown
