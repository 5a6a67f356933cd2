"""A ticket tracker as an MCP server, as somebody would write one with the official SDK: it knows nothing of Factum.

Every ticket is a line of the file that TRACKER names. `slow` takes longer than a client has patience; `lost` acts and dies.
"""

import json
import os
import time
from pathlib import Path

from mcp.server import MCPServer

LEDGER = Path(os.environ["TRACKER"])
server = MCPServer("tracker")


@server.tool()
def create_ticket(title: str, body: str = "") -> dict[str, int]:
    """Creates a ticket."""
    with LEDGER.open("a") as ledger:
        ledger.write(json.dumps({"title": title, "body": body}) + "\n")
    if title == "slow":
        time.sleep(3)
    if title == "lost":
        os._exit(1)
    return {"number": len(LEDGER.read_text().splitlines())}


@server.tool()
def search_tickets(text: str) -> dict[str, list[dict[str, object]]]:
    """Finds tickets that hold a text."""
    lines = LEDGER.read_text().splitlines() if LEDGER.exists() else []
    rows = [{"number": number, **json.loads(line)} for number, line in enumerate(lines, 1)]
    return {"tickets": [row for row in rows if text in str(row)]}


if __name__ == "__main__":
    server.run()
