"""The fs group: read, write and arrange files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group, in the order in which a model sees them."""
    from xun_builtin_tools.fs.arranging import copy, delete, mkdir, move, temp_dir
    from xun_builtin_tools.fs.filming import read_visual_file
    from xun_builtin_tools.fs.listing import file_info, list_dir
    from xun_builtin_tools.fs.many import read_many_files
    from xun_builtin_tools.fs.picturing import request_image
    from xun_builtin_tools.fs.reading import read_file
    from xun_builtin_tools.fs.writing import write_file

    return [
        read_file,
        read_many_files,
        write_file,
        list_dir,
        file_info,
        move,
        copy,
        delete,
        mkdir,
        temp_dir,
        request_image,
        read_visual_file,
    ]
