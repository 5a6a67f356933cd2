/**
 * Vercel AI SDK. An abort ends the waiting, and never the action.
 *
 *     generateText({ model, tools: { createTicket: asTool({ … schema: z.object({ order: z.string() }) }) }, experimental_context: conversation })
 */
import { answer, type Described } from "../tool.js";

interface Call {
  abortSignal?: AbortSignal;
  experimental_context?: unknown;
}

/** A tool for `tools` of `generateText`, `streamText` and agents. */
export function asTool<Input, Schema>(described: Described<Input, Schema, unknown>) {
  return {
    description: described.description,
    inputSchema: described.schema,
    execute: async (input: Input, call: Call): Promise<string> => {
      const scope = described.scope?.(call.experimental_context);
      return (await answer(described.tool, input, { scope, signal: call.abortSignal })).text;
    },
  };
}
