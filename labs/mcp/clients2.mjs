// The second line of the official TypeScript SDK as a client of the server, in both eras and over both transports, with a person who approves; and
// of the gateway. What really happened is read from the testbed's ledger. clients2.mjs FACTUM FOLDER SUITE.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [factum, folder, suite] = process.argv.slice(2);
const url = process.env.FACTUM_URL;

const effects = (business) =>
  JSON.parse(execFileSync(factum, ["testbed", "ledger", process.env.BED, "--json"], { encoding: "utf8" })).by_business[business] ?? 0;
const pipe = (args, env = {}) => new StdioClientTransport({ command: factum, args, cwd: folder, env: { ...process.env, ...env } });
const http = (token) => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${token}` } } });
const MODES = { older: "legacy", newer: { pin: "2026-07-28" } };

async function connected(mode, transport) {
  const client = new Client({ name: "lab", version: "2" }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } });
  const shown = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    shown.push(params.message);
    return { action: "accept", content: { approve: true } };
  });
  await client.connect(transport);
  return { client, shown };
}

for (const [era, mode] of Object.entries(MODES)) {
  const token = process.env.APPROVER;
  for (const [name, transport] of [["http", http(token)], ["pipe", pipe(["mcp", "serve"], { FACTUM_TOKEN: token })]]) {
    const { client, shown } = await connected(mode, transport);
    const { tools } = await client.listTools();
    assert(tools.some((tool) => tool.name === "perform_action"));
    for (const [operation, asks] of [["key.sync", 0], ["lookup.sync", 1]]) {
      const business = `sdk-2-${era}-${name}-${operation}`;
      const call = { name: "perform_action", arguments: { destination: "bed", operation, payload: { business }, request_key: business, wait_s: 20 } };
      const first = await client.callTool(call);
      assert.equal(first.structuredContent.outcome, "done", JSON.stringify(first));
      assert.equal((await client.callTool(call)).structuredContent.outcome, "already_done");
      assert.deepEqual([effects(business), shown.length], [1, asks]);
    }
    await client.close();
    console.log(`SDK 2, ${era} era, ${name}: ok`);
  }
  const words = ["mcp", "wrap", "--approve", "test_*", "--data", join(folder, `gateway-${era}`), "--", "python3", suite];
  const { client, shown } = await connected(mode, pipe(words));
  const call = { name: "test_simple_text", arguments: { request_key: era } };
  const first = await client.callTool(call);
  assert.match(first.content[0].text, /simple text/);
  assert.deepEqual((await client.callTool(call)).content, first.content);
  assert.equal(shown.length, 1);
  await client.close();
  console.log(`SDK 2, ${era} era, gateway: ok`);
}
