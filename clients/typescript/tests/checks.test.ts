/** The eight checks that an adapter has to pass, each through the framework's own tool: docs/adapters.md. Effects are counted at the destination. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { tool as langchainTool } from "@langchain/core/tools";
import { createTool } from "@mastra/core/tools";
import { RunContext, tool as openaiTool } from "@openai/agents";
import { z } from "zod";
import { asTool as forAiSdk } from "../src/adapters/ai-sdk.js";
import { asTool as forLanggraph } from "../src/adapters/langgraph.js";
import { asTool as forMastra } from "../src/adapters/mastra.js";
import { asTool as forOpenai } from "../src/adapters/openai-agents.js";
import { keyOf, tool, type Factum, type Tool } from "../src/index.js";
import { Playground } from "../src/testing.js";

interface Order {
  order: string;
  request_key?: string;
  another?: boolean;
}

const settings = `
operations."key.sync".twin_guard = "10 min"
operations."lookup.sync".approval = { required = "always", self = true }
`;
const schema = z.object({ order: z.string(), request_key: z.string().optional(), another: z.boolean().optional() });
const described = { name: "create_ticket", description: "Opens a ticket for an order.", schema };
const scope = () => "conv-1";
let ground: Playground;
let factum: Factum;

before(async () => {
  ground = await Playground.start({ settings });
  factum = await ground.factum({ patienceMs: 60_000 });
});
after(() => ground.stop());

type Call = (made: Tool<Order>, input: Order, signal?: AbortSignal) => Promise<string>;
let calls = 0;

/** How each framework calls a tool. A signal is passed on where the framework has one. */
const adapters: Record<string, Call> = {
  "ai-sdk": async (made, input, signal) => {
    const options = { toolCallId: `call-${(calls += 1)}`, messages: [], ...(signal ? { abortSignal: signal } : {}) };
    return String(await forAiSdk({ ...described, tool: made, scope }).execute?.(input, options as never));
  },
  openai: async (made, input) =>
    String(await openaiTool(forOpenai({ ...described, tool: made, scope })).invoke(new RunContext("conv-1"), JSON.stringify(input))),
  langgraph: async (made, input, signal) => {
    const call = { name: "create_ticket", args: input, id: `call-${(calls += 1)}`, type: "tool_call" as const };
    const config = { configurable: { thread_id: "conv-1" }, ...(signal ? { signal } : {}) };
    const told: { content: unknown } = await langchainTool(...forLanggraph({ ...described, tool: made })).invoke(call as never, config);
    return String(told.content);
  },
  mastra: async (made, input) => String(await createTool(forMastra({ ...described, tool: made })).execute?.({ context: input, threadId: "conv-1" } as never)),
};

function ticket(operation: string, waitMs: number, withKey = true): Tool<Order> {
  return tool<Order>(factum, {
    destination: "bed",
    operation,
    key: (input, of) => (withKey ? keyOf("ticket", of ?? "nobody", input.order) : (input.request_key ?? "none")),
    payload: ({ order }) => ({ business: order }),
    members: ({ another }) => (another ? { another } : {}),
    waitMs,
  });
}

const effects = async (business: string) => (await ground.counts()).by_business[business] ?? 0;

async function happened(business: string): Promise<void> {
  while ((await effects(business)) === 0) await new Promise((over) => setTimeout(over, 20));
}

for (const [name, call] of Object.entries(adapters)) {
  test(`${name}, 1: a slow effect is pending, and the model's next call joins`, async () => {
    const order = `slow-${name}`;
    await ground.faults("late_answer=1500,n=1,class=effect");
    assert.match(await call(ticket("key.sync", 200), { order }), /Do not call this tool again/);
    assert.match(await call(ticket("key.sync", 30_000), { order }), /^This was already done/);
    assert.equal(await effects(order), 1);
  });

  test(`${name}, 2: the same under a new name is not sent`, async () => {
    const order = `twin-${name}`;
    const made = ticket("key.sync", 30_000, false);
    assert.match(await call(made, { order, request_key: `${order}/1` }), /^Done/);
    assert.match(await call(made, { order, request_key: `${order}/2` }), /^Not sent: the same was already asked for/);
    assert.equal(await effects(order), 1);
    assert.match(await call(made, { order, request_key: `${order}/3`, another: true }), /^Done/);
    assert.equal(await effects(order), 2);
  });

  test(`${name}, 3 and 6: eager repeats of an unknown outcome make one effect`, async () => {
    const order = `eager-${name}`;
    await ground.faults("close_fin,p=1,class=effect");
    for (let round = 0; round < 5; round++) assert.match(await call(ticket("neither.sync", 20_000), { order }), /Do not call this tool again.*act_/s);
    await ground.faults("");
    assert.equal(await effects(order), 1);
  });

  test(`${name}, 4: a node that is run again gets the same action`, async () => {
    const order = `resumed-${name}`;
    const named = [];
    for (let round = 0; round < 2; round++) named.push(/act_\w{26}/.exec(await call(ticket("key.sync", 30_000), { order }))?.[0]);
    assert.ok(named[0]);
    assert.equal(named[1], named[0]);
    assert.equal(await effects(order), 1);
  });

  test(`${name}, 5: what a kill interrupts is joined by the replay`, async () => {
    const order = `killed-${name}`;
    await ground.faults("late_answer=3000,n=1,class=effect");
    const interrupted = call(ticket("key.sync", 20_000), { order });
    await happened(order);
    await ground.killEngine();
    await ground.startEngine();
    assert.match(await interrupted, /^(Done|This was already done|Not finished|Outcome not known)/);
    assert.match(await call(ticket("key.sync", 30_000), { order }), /^This was already done/);
    assert.equal(await effects(order), 1);
  });

  test(`${name}, 7: a call that its caller gives up goes on`, async () => {
    const order = `gone-${name}`;
    await ground.faults("late_answer=1000,n=1,class=effect");
    const control = new AbortController();
    const givenUp = call(ticket("key.sync", 20_000), { order }, control.signal).catch(() => "given up");
    await happened(order);
    control.abort();
    assert.match(await call(ticket("key.sync", 30_000), { order }), /^This was already done/);
    await givenUp;
    assert.equal(await effects(order), 1);
  });

  test(`${name}, 8: an approval that comes twice makes one effect`, async () => {
    const order = `approved-${name}`;
    assert.match(await call(ticket("lookup.sync", 30_000), { order }), /^Not sent/);
    assert.equal(await effects(order), 0);
    const { proposal } = await factum.propose("bed", "lookup.sync", { business: order }, { key: keyOf("ticket", "conv-1", order) });
    const first = await factum.approve(proposal.id, proposal.digest);
    const second = await factum.approve(proposal.id, proposal.digest);
    assert.equal(first.action?.id, second.action?.id);
    assert.match(await call(ticket("lookup.sync", 30_000), { order }), /^This was already done/);
    assert.equal(await effects(order), 1);
  });
}
