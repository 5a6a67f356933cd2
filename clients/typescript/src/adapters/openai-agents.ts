/**
 * OpenAI Agents SDK for JavaScript.
 *
 *     new Agent({ name: "support", tools: [tool(asTool({ … schema: z.object({ order: z.string() }) }))] })
 */
import { answer, type Described } from "../tool.js";

/** The argument of the SDK's `tool`. */
export function asTool<Input, Schema>(described: Described<Input, Schema, unknown>) {
  return {
    name: described.name,
    description: described.description,
    parameters: described.schema,
    execute: async (input: unknown, run?: { context: unknown }): Promise<string> => {
      return (await answer(described.tool, input as Input, { scope: described.scope?.(run?.context) })).text;
    },
    // What a call throws otherwise becomes a text that invites another try.
    errorFunction: null,
  };
}
