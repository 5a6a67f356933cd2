"""The official Python SDK as a client of the server and of the gateway, over both transports and in both eras. Effects are counted where they
happen: in the testbed's ledger, and in the tracker's file.

clients.py FACTUM FOLDER: in FOLDER are `factum.toml` and what a server there has made; FACTUM_URL and BED are set.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

FACTUM, FOLDER = sys.argv[1], Path(sys.argv[2])
HERE = Path(__file__).parent
URL, TOKEN = os.environ["FACTUM_URL"], (FOLDER / "factum-data/admin.token").read_text().strip()
ERAS = {"newer": "auto", "older": "legacy"}


def effects(business: str) -> int:
    said = subprocess.run([FACTUM, "testbed", "ledger", os.environ["BED"], "--json"], capture_output=True, check=True, text=True)
    return json.loads(said.stdout)["by_business"].get(business, 0)


def tickets(file: Path, title: str) -> int:
    return sum(json.loads(line)["title"] == title for line in file.read_text().splitlines()) if file.exists() else 0


def pipe(*words: str, **variables: str) -> StdioServerParameters:
    return StdioServerParameters(command=FACTUM, args=list(words), cwd=FOLDER, env={**os.environ, **variables})


def http():
    return streamable_http_client(f"{URL}/mcp", http_client=httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60))


def outcome(result) -> str:
    own = (result.meta or {}).get("dev.factum/action")
    return (own or result.structured_content)["outcome"]


async def server(transport: str, era: str, mode: str) -> None:
    """Lists, performs, joins, is held off, looks, reads."""
    place = stdio_client(pipe("mcp", "serve", FACTUM_URL=URL, FACTUM_TOKEN=TOKEN)) if transport == "pipe" else http()
    async with Client(place, mode=mode) as client:
        assert (client.protocol_version == "2026-07-28") == (era == "newer"), client.protocol_version
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"perform_action", "get_action", "list_recent_actions"} <= names, names
        business = f"python-{transport}-{era}"
        wish = {"destination": "bed", "operation": "key.sync", "payload": {"business": business}}
        keyed = {**wish, "request_key": business, "wait_s": 20}
        first = await client.call_tool("perform_action", keyed)
        assert outcome(first) == "done" and not first.is_error, first
        assert outcome(await client.call_tool("perform_action", keyed)) == "already_done"
        twin = await client.call_tool("perform_action", wish)
        assert outcome(twin) == "possible_duplicate" and not twin.is_error, twin
        uri = f"factum://actions/{first.structured_content['id']}"
        assert json.loads((await client.read_resource(uri)).contents[0].text)["state"] == "succeeded"
        refused = await client.call_tool("perform_action", {"destination": "nowhere", "operation": "x"})
        assert refused.is_error and outcome(refused) == "refused", refused
        assert effects(business) == 1


async def gateway(era: str, mode: str) -> None:
    """The tracker behind the gateway: a slow ticket, a repeat, a lost one that is found, and nothing twice."""
    ledger = FOLDER / f"tracker-{era}.jsonl"
    place = pipe("mcp", "wrap", "--file", str(FOLDER / "gateway.toml"), "--data", f"gateway-{era}", TRACKER=str(ledger))
    async with Client(stdio_client(place), mode=mode) as client:
        shown = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "request_key" in shown["create_ticket"].input_schema["properties"], shown["create_ticket"]
        assert "request_key" not in shown["search_tickets"].input_schema["properties"]
        first = await client.call_tool("create_ticket", {"title": "plain", "request_key": "a"})
        again = await client.call_tool("create_ticket", {"title": "plain", "request_key": "a"})
        assert first.structured_content == again.structured_content, (first, again)
        assert (outcome(first), outcome(again)) == ("done", "already_done")
        # The client gives up after a second; the call goes on, and its repeat gets what came of it.
        try:
            await client.call_tool("create_ticket", {"title": "slow", "request_key": "b"}, read_timeout_seconds=1)
        except Exception as error:
            print(f"gave up, as it should: {type(error).__name__}")
        assert outcome(await client.call_tool("create_ticket", {"title": "slow", "request_key": "b"})) == "already_done"
        lost = await client.call_tool("create_ticket", {"title": "lost", "request_key": "c"})
        assert not lost.is_error, lost
        for _ in range(30):
            looked = await client.call_tool("get_action", {"request_key": "c", "wait_s": 20})
            if outcome(looked) not in ("pending", "unknown"):
                break
        assert outcome(looked) == "done", looked
        found = await client.call_tool("search_tickets", {"text": "lost"})
        assert len(found.structured_content["tickets"]) == 1, found
    for title in ("plain", "slow", "lost"):
        assert tickets(ledger, title) == 1, title


async def main() -> None:
    for era, mode in ERAS.items():
        for transport in ("pipe", "http"):
            await server(transport, era, mode)
            print(f"server, {transport}, {era} era: ok")
        await gateway(era, mode)
        print(f"gateway, {era} era: ok")


asyncio.run(main())
