"""The full-screen front end: Textual on the terminal's alternate screen."""
