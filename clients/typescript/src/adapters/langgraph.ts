/**
 * LangChain.js and LangGraph.js. The scope is the thread's id.
 *
 *     const createTicket = tool(...asTool({ … schema: z.object({ order: z.string() }) }));
 */
import { answer, type Described } from "../tool.js";

interface Config {
  configurable?: Record<string, unknown>;
  signal?: AbortSignal;
}

/** The arguments of LangChain's `tool`. */
export function asTool<Input, Schema>(described: Omit<Described<Input, Schema, never>, "scope">) {
  const call = async (input: unknown, config?: Config): Promise<string> => {
    const thread = config?.configurable?.["thread_id"];
    const scope = typeof thread === "string" ? thread : undefined;
    return (await answer(described.tool, input as Input, { scope, signal: config?.signal })).text;
  };
  return [call, { name: described.name, description: described.description, schema: described.schema }] as const;
}
