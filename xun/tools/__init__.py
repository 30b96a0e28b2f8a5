"""Functions as tools: metadata, schema, validation, the toolbox."""
