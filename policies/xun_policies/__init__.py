"""The policy layer: workspace, command gate, write permissions. No UI and no model in it."""
