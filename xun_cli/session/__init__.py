"""One conversation: its events, its file, its queue. No UI library in here."""
