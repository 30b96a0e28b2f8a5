"""Writing one setting into a file that a person keeps: comments and order stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xun.errors import ConfigError
from xun_cli.config import check_value, unknown_key
from xun_cli.places import write_private
from xun_cli.settings import all_keys
from xun_cli.toml_file import short


def set_value(path: Path, key: str, value: Any) -> None:
    """Set the dotted *key* in the TOML file *path*; the file is made when it is missing.

    Raises:
        ConfigError: There is no such key, the value does not fit it, or the file can't be read or written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if key not in all_keys():
        raise ConfigError(unknown_key(key))
    value = check_value(key, value)
    real = path.resolve()  # a link to a file in some other folder stays a link
    try:
        document = tomlkit.parse(real.read_text(encoding="utf-8") if real.exists() else "")
        at: Any = document
        *sections, last = key.split(".")
        for section in sections:
            if section not in at:
                at[section] = tomlkit.table(is_super_table=section != sections[-1])
            at = at[section]
        at[last] = value
        write_private(real, tomlkit.dumps(document).encode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{short(path)} can't be written: {error.strerror or error}") from None
    except (TOMLKitError, UnicodeDecodeError, TypeError) as error:
        raise ConfigError(f"{short(path)} can't be changed, it is not valid: {error}; `xun config check`") from None
