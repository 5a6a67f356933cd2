"""An MCP server over a pipe with the tools that the conformance suite asks a server for: what stands behind the gateway when the suite asks it."""

import json
import sys

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
TEXT = {"type": "text", "text": "This is a simple text response for testing."}
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
RESOURCE = {"type": "resource", "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}}
RESULTS = {
    "test_simple_text": {"content": [TEXT]},
    "test_image_content": {"content": [IMAGE]},
    "test_audio_content": {"content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]},
    "test_embedded_resource": {"content": [RESOURCE]},
    "test_multiple_content_types": {"content": [TEXT, IMAGE, RESOURCE]},
    "test_error_handling": {"content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}], "isError": True},
    "json_schema_2020_12_tool": {"content": [TEXT]},
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}}, "additionalProperties": False,
}


def tool(name):
    schema = SCHEMA if name.startswith("json_schema") else {"type": "object", "properties": {}}
    return {"name": name, "description": "For the conformance suite.", "inputSchema": schema, "annotations": {"readOnlyHint": True}}


def answer(message):
    method = message["method"]
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "suite", "version": "1"}}
    if method == "tools/list":
        return {"tools": [tool(name) for name in RESULTS]}
    return RESULTS[message["params"]["name"]]


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked and "method" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}), flush=True)
