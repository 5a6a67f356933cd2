/**
 * Mastra. The scope is the thread's id.
 *
 *     const createTicket = createTool(asTool({ … schema: z.object({ order: z.string() }) }));
 */
import { answer, type Described } from "../tool.js";

interface Call {
  context?: unknown;
  threadId?: string | undefined;
  agent?: { threadId?: string | undefined } | undefined;
}

/** The argument of Mastra's `createTool`. Its calls hand over the input as `context`, in versions from 1 on as the first argument. */
export function asTool<Input, Schema>(described: Omit<Described<Input, Schema, never>, "scope">) {
  return {
    id: described.name,
    description: described.description,
    inputSchema: described.schema,
    execute: async (first: unknown, second?: unknown): Promise<string> => {
      const old = first as Call;
      const call = old?.context === undefined ? ((second ?? {}) as Call) : old;
      const input = (old?.context === undefined ? first : old.context) as Input;
      return (await answer(described.tool, input, { scope: call.threadId ?? call.agent?.threadId })).text;
    },
  };
}
