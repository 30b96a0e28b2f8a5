"""The edit engine under every tool that writes: documents, matching, patches, commit, undo."""
