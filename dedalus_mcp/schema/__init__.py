"""Python annotations to JSON Schema and decoders; the elicitation subset."""
