"""The inline front end: prompt_toolkit in the terminal's normal screen buffer."""
