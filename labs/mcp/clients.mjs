// The official TypeScript SDK as a client of the server over both transports, and of the gateway before a server from npm. What really
// happened is read from the testbed's ledger and from the file that the npm server wrote.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [factum, folder, filesystem] = process.argv.slice(2);
const url = process.env.FACTUM_URL;
const token = readFileSync(join(folder, "factum-data/admin.token"), "utf8").trim();

const effects = (business) =>
  JSON.parse(execFileSync(factum, ["testbed", "ledger", process.env.BED, "--json"], { encoding: "utf8" })).by_business[business] ?? 0;
const pipe = (args, env = {}) => new StdioClientTransport({ command: factum, args, cwd: folder, env: { ...process.env, ...env } });

async function connected(transport) {
  const client = new Client({ name: "lab", version: "1" });
  await client.connect(transport);
  return client;
}

async function server(name, transport) {
  const client = await connected(transport);
  const { tools } = await client.listTools();
  assert(tools.some((tool) => tool.name === "perform_action"));
  const business = `typescript-${name}`;
  const call = { name: "perform_action", arguments: { destination: "bed", operation: "key.sync", payload: { business }, request_key: business, wait_s: 20 } };
  const first = await client.callTool(call);
  assert.equal(first.structuredContent.outcome, "done");
  assert.equal((await client.callTool(call)).structuredContent.outcome, "already_done");
  assert.equal(effects(business), 1);
  await client.close();
  console.log(`server, ${name}: ok`);
}

/** A client whose person approves whatever is shown to them; what that was. */
async function approver(transport) {
  const client = new Client({ name: "lab", version: "1" }, { capabilities: { elicitation: {} } });
  const shown = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    shown.push(params.message);
    return { action: "accept", content: { approve: true } };
  });
  await client.connect(transport);
  return { client, shown };
}

async function approval(name, transport) {
  const { client, shown } = await approver(transport);
  const business = `approved-${name}`;
  const call = { name: "perform_action", arguments: { destination: "bed", operation: "lookup.sync", payload: { business }, request_key: business, wait_s: 20 } };
  const first = await client.callTool(call);
  assert.equal(first.structuredContent.outcome, "done");
  assert.equal((await client.callTool(call)).structuredContent.outcome, "already_done");
  assert.deepEqual([effects(business), shown.length], [1, 1]);
  assert.match(shown[0], new RegExp(business));
  await client.close();
  console.log(`approval, ${name}: ok`);
}

async function gateway() {
  const files = join(folder, "files");
  mkdirSync(files, { recursive: true });
  const words = ["mcp", "wrap", "--data", join(folder, "gateway-npm"), "--trust-annotations", "--", process.execPath, filesystem, files];
  const client = await connected(pipe(words));
  const { tools } = await client.listTools();
  const write = tools.find((tool) => tool.name === "write_file");
  assert(write.inputSchema.properties.request_key && !write.outputSchema);
  const call = { name: "write_file", arguments: { path: join(files, "a.txt"), content: "once", request_key: "a" } };
  const first = await client.callTool(call);
  const again = await client.callTool(call);
  assert.deepEqual(first.content, again.content);
  assert.equal(again._meta["dev.factum/action"].already_done, true);
  const read = await client.callTool({ name: "read_text_file", arguments: { path: join(files, "a.txt") } });
  assert.equal(read.content[0].text, "once");
  assert.equal(readFileSync(join(files, "a.txt"), "utf8"), "once");
  await client.close();
  console.log("gateway before a server from npm: ok");
}

/** A call through the gateway that its person approves first. */
async function approvedFile() {
  const files = join(folder, "approved");
  mkdirSync(files, { recursive: true });
  const words = ["mcp", "wrap", "--data", join(folder, "gateway-approving"), "--approve", "write_*", "--", process.execPath, filesystem, files];
  const { client, shown } = await approver(pipe(words));
  const call = { name: "write_file", arguments: { path: join(files, "b.txt"), content: "approved", request_key: "b" } };
  const first = await client.callTool(call);
  assert.deepEqual((await client.callTool(call)).content, first.content);
  assert.equal(readFileSync(join(files, "b.txt"), "utf8"), "approved");
  assert.equal(shown.length, 1);
  assert.match(shown[0], /"content":"approved"/);
  await client.close();
  console.log("approval, gateway before a server from npm: ok");
}

await server("pipe", pipe(["mcp", "serve"], { FACTUM_URL: url, FACTUM_TOKEN: token }));
await server("http", new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${token}` } } }));
await gateway();
await approvedFile();
await approval("pipe", pipe(["mcp", "serve"], { FACTUM_URL: url, FACTUM_TOKEN: process.env.APPROVER }));
const asAna = { requestInit: { headers: { authorization: `Bearer ${process.env.APPROVER}` } } };
await approval("http", new StreamableHTTPClientTransport(new URL(`${url}/mcp`), asAna));
