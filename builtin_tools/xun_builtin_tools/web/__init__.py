"""Reading from the web: addresses that may be reached, pinned connections, pages as text."""
