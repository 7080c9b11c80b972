"""Python annotations to JSON Schema and decoders; the elicitation subset.

    arguments     signature  ──▶ input schema, decoder
    returns       annotation ──▶ output schema, structured content
    forms         requested schema ──▶ checked, reduced, answered; fields describes it
    typed_forms   class      ──▶ requested schema, instance

Layer: L1; imports `errors` and msgspec only.
"""
