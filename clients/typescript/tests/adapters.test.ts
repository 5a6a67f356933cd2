/** A tool in the frameworks, each with a model that follows a script and calls twice. Effects are counted at the destination. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { tool as langchainTool } from "@langchain/core/tools";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createTool } from "@mastra/core/tools";
import { Agent, run, setTracingDisabled, tool as openaiTool, Usage, type Model, type ModelRequest, type ModelResponse } from "@openai/agents";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";
import { asTool as forAiSdk } from "../src/adapters/ai-sdk.js";
import { asTool as forLanggraph } from "../src/adapters/langgraph.js";
import { asTool as forMastra } from "../src/adapters/mastra.js";
import { asTool as forOpenai } from "../src/adapters/openai-agents.js";
import { keyOf, tool, type Tool } from "../src/index.js";
import { Playground } from "../src/testing.js";

interface Order {
  order: string;
}

let ground: Playground;
let createTicket: Tool<Order>;
let announce: Tool<Order>;
const described = { name: "create_ticket", description: "Opens a ticket for an order.", schema: z.object({ order: z.string() }) };
const scope = (context: unknown) => (typeof context === "string" ? context : "conv-1");

before(async () => {
  ground = await Playground.start();
  const factum = await ground.factum();
  const made = (operation: string) =>
    tool<Order>(factum, {
      destination: "bed",
      operation,
      key: ({ order }, of) => keyOf("ticket", of ?? "nobody", order),
      payload: ({ order }) => ({ business: order }),
      waitMs: 30_000,
    });
  createTicket = made("key.sync");
  announce = made("neither.sync");
});
after(() => ground.stop());
beforeEach(() => ground.faults(""));

async function joined(business: string, told: string[]): Promise<void> {
  assert.match(told[0] ?? "", /^Done/);
  assert.match(told[1] ?? "", /^This was already done/);
  assert.equal((await ground.counts()).by_business[business], 1);
}

function assertUnknown(told: string | undefined): void {
  assert.match(told ?? "", /act_/);
  assert.match(told ?? "", /Do not call this tool again/);
}

async function aiSdk(called: Tool<Order>, order: string, times: number): Promise<string[]> {
  let step = 0;
  const model = new MockLanguageModelV3({
    doGenerate: async () => {
      step += 1;
      const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
      const content =
        step <= times
          ? [{ type: "tool-call" as const, toolCallId: `call-${order}-${step}`, toolName: "create_ticket", input: JSON.stringify({ order }) }]
          : [{ type: "text" as const, text: "end" }];
      const unified = step <= times ? ("tool-calls" as const) : ("stop" as const);
      return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
    },
  });
  const tools = { create_ticket: forAiSdk({ ...described, tool: called, scope }) };
  const said = await generateText({ model, prompt: "go", tools, stopWhen: stepCountIs(5), experimental_context: "conv-1" });
  return said.steps.flatMap((one) => one.toolResults.map((result) => String(result.output)));
}

test("Vercel AI SDK: a second call with a new id joins", async () => {
  await ground.loseNextAnswer();
  await joined("ai-1", await aiSdk(createTicket, "ai-1", 2));
});

test("Vercel AI SDK: unknown is an ordinary answer with the id", async () => {
  await ground.faults("close_fin,p=1,class=effect");
  assertUnknown((await aiSdk(announce, "ai-2", 1))[0]);
});

class Scripted implements Model {
  told: string[] = [];
  #step = 0;

  constructor(
    private readonly order: string,
    private readonly times: number,
  ) {}

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const input = Array.isArray(request.input) ? request.input : [];
    this.told = input.flatMap((item) => (item.type === "function_call_result" ? [textOf(item.output)] : []));
    this.#step += 1;
    const output: ModelResponse["output"] =
      this.#step <= this.times
        ? [{ type: "function_call", callId: `call-${this.order}-${this.#step}`, name: "create_ticket", arguments: JSON.stringify({ order: this.order }), status: "completed" }]
        : [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "end" }] }];
    return { usage: new Usage(), output };
  }

  getStreamedResponse(): never {
    throw new Error("not streamed");
  }
}

function textOf(output: unknown): string {
  if (typeof output === "string") return output;
  const text = (output as { text?: unknown }).text;
  return typeof text === "string" ? text : JSON.stringify(output);
}

async function openai(called: Tool<Order>, order: string, times: number): Promise<string[]> {
  setTracingDisabled(true);
  const model = new Scripted(order, times);
  const agent = new Agent({ name: "support", model, tools: [openaiTool(forOpenai({ ...described, tool: called, scope }))] });
  await run(agent, "go");
  return model.told;
}

test("OpenAI Agents: a second call with a new id joins", async () => {
  await ground.loseNextAnswer();
  await joined("oa-1", await openai(createTicket, "oa-1", 2));
});

test("OpenAI Agents: unknown is an ordinary answer with the id", async () => {
  await ground.faults("close_fin,p=1,class=effect");
  assertUnknown((await openai(announce, "oa-2", 1))[0]);
});

async function langgraph(called: Tool<Order>, order: string, times: number): Promise<string[]> {
  let step = 0;
  const node = new ToolNode([langchainTool(...forLanggraph({ ...described, tool: called }))]);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", () => {
      step += 1;
      const calls = step <= times ? [{ name: "create_ticket", args: { order }, id: `call-${order}-${step}`, type: "tool_call" as const }] : [];
      return { messages: [new AIMessage({ content: "", tool_calls: calls })] };
    })
    .addNode("tools", node, { retryPolicy: { maxAttempts: 5, initialInterval: 1 } })
    .addEdge("__start__", "model")
    .addConditionalEdges("model", ({ messages }) => ((messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : "__end__"))
    .addEdge("tools", "model")
    .compile();
  const state = await graph.invoke({ messages: [] }, { configurable: { thread_id: "conv-1" } });
  return state.messages.filter((message) => message instanceof ToolMessage).map((message) => String(message.content));
}

test("LangGraph.js: a second call joins, under an eager retry policy", async () => {
  await ground.loseNextAnswer();
  await joined("lg-1", await langgraph(createTicket, "lg-1", 2));
});

test("LangGraph.js: unknown is an ordinary answer with the id", async () => {
  await ground.faults("close_fin,p=1,class=effect");
  assertUnknown((await langgraph(announce, "lg-2", 1))[0]);
  assert.equal((await ground.counts()).by_business["lg-2"], 1);
});

test("Mastra: a second call joins, and unknown is an ordinary answer", async () => {
  const call = async (called: Tool<Order>, order: string) => {
    const made = createTool(forMastra({ ...described, tool: called }));
    return String(await made.execute?.({ context: { order }, threadId: "conv-1" } as never));
  };
  await ground.loseNextAnswer();
  await joined("ma-1", [await call(createTicket, "ma-1"), await call(createTicket, "ma-1")]);
  await ground.faults("close_fin,p=1,class=effect");
  assertUnknown(await call(announce, "ma-2"));
});

test("what the engine refuses is said to the model, and nothing is sent", async () => {
  const told = await openai(tool<Order>(await ground.factum(), { destination: "nowhere", operation: "x", key: () => "k" }), "none", 1);
  assert.match(told[0] ?? "", /^Not sent: .*destination/);
});
