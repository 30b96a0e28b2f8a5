"""Regular expressions in ripgrep's syntax, matched in linear time without ripgrep."""
