"""The keywords of a JSON schema, none of which may be passed over.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

llguidance refuses keywords of the standard that it does not implement, and passes over all that it
does not know: a misspelt one would hold for nobody. So names that neither constrain nor annotate are
refused here. Names that begin with "x-" are annotations, as OpenAPI has it.
"""

import difflib

_ONE = ("additionalProperties", "additionalItems", "not", "if", "then", "else", "contains",
        "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_OTHER = ("type", "enum", "const", "items", "required", "minItems", "maxItems", "uniqueItems",
          "minContains", "maxContains", "minLength", "maxLength", "pattern", "format", "minimum",
          "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minProperties",
          "maxProperties", "dependentRequired", "dependencies", "$ref", "$dynamicRef",
          "$recursiveRef")
_ANNOTATIONS = ("title", "description", "default", "example", "examples", "deprecated", "readOnly",
                "writeOnly", "$comment", "$schema", "$id", "id", "$anchor", "$dynamicAnchor",
                "$vocabulary", "contentEncoding", "contentMediaType", "discriminator",
                "externalDocs")
_KNOWN = frozenset((*_ONE, *_LISTS, *_MAPS, *_OTHER, *_ANNOTATIONS))
#: OpenAPI's words, and JSON Schema's.
_INSTEAD = {"nullable": 'a type of ["string", "null"], say', "optional": "no entry in required",
            "strict": "strict beside the schema, not in it"}


def _refusal(schema, path):
    for name in schema:
        place = f" in {path}" if path else ""
        if name == "additionalItems" and not isinstance(schema.get("items"), list):
            return f"additionalItems{place} has no meaning unless items is a list"
        if name in _KNOWN or name.startswith("x-"):
            continue
        near = difflib.get_close_matches(name, _KNOWN, 1, cutoff=0.8)
        if name in _INSTEAD:
            return f"unknown keyword '{name}'{place}: expected {_INSTEAD[name]}"
        return f"unknown keyword '{name}'{place}" + (f"; did you mean '{near[0]}'?" if near else "")
    return None


def refusal(schema, path=""):
    """Why a schema cannot hold, a text that names the first unknown keyword and where it is; None
    if there is none. What is no schema at all is left to llguidance to refuse."""
    waiting = [(schema, path)]
    while waiting:
        one, path = waiting.pop()
        if not isinstance(one, dict):
            continue
        if words := _refusal(one, path):
            return words
        found, before = [], f"{path}." if path else ""
        for name, value in one.items():
            if name in _ONE or (name == "items" and not isinstance(value, list)):
                found.append((value, before + name))
            elif name in (*_LISTS, "items") and isinstance(value, list):
                found += [(each, f"{before}{name}[{i}]") for i, each in enumerate(value)]
            elif name in _MAPS and isinstance(value, dict):
                found += [(each, f"{before}{name}.{key}") for key, each in value.items()]
        waiting += reversed(found)
    return None
