/** Tools for agents: a name, a description and parameters, whose call becomes an action. */
import { Refused, type Factum, type Submission } from "./client.js";
import type { Outcome } from "./outcome.js";

/** Says what a request key is for, in words that do not make a model invent a new one per call. */
export const REQUEST_KEY =
  "Identifies this one intended action. Use the same value every time you try or retry this same action. " +
  "Use a different value only if the user wants another, separate one.";

/** Joins the parts of a key so that no two lists of parts give the same one: `keyOf("ticket", conversation, order)`. */
export function keyOf(...parts: (string | number)[]): string {
  return parts
    .map((part) => {
      if (part === "") throw new TypeError("a part of a key is empty");
      return String(part).replace(/[%/]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
    })
    .join("/");
}

export interface ToolOptions<Input> {
  destination: string;
  operation: string;
  /** The intent's name, made of what causes it; `keyOf` joins parts. */
  key: (input: Input, scope: string | undefined) => string;
  /** What is sent; the input itself unless said. */
  payload?: (input: Input) => unknown;
  members?: (input: Input) => Omit<Submission, "key" | "event" | "effect">;
  waitMs?: number;
}

export interface CallOptions {
  /** Whose call it is: a conversation, a thread. */
  scope?: string | undefined;
  another?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** A function that has the tool's effect made, once per key. */
export type Tool<Input> = (input: Input, options?: CallOptions) => Promise<Outcome>;

/** Makes one. */
export function tool<Input>(factum: Factum, options: ToolOptions<Input>): Tool<Input> {
  return (input, { scope, another, signal } = {}) =>
    factum.perform(options.destination, options.operation, options.payload ? options.payload(input) : input, {
      ...options.members?.(input),
      key: options.key(input, scope),
      signal,
      ...(options.waitMs === undefined ? {} : { waitMs: options.waitMs }),
      ...(another ? { another: true } : {}),
    });
}

/** What a model is told about a call of its own making. Throws nothing: frameworks repeat what throws. */
export async function answer<Input>(called: Tool<Input>, input: Input, options: CallOptions = {}): Promise<{ text: string; isError: boolean }> {
  try {
    return (await called(input, options)).forModel;
  } catch (error) {
    // Nothing was recorded, and the model can put its arguments right.
    if (error instanceof Refused || error instanceof TypeError) return { text: `Not sent: ${error.message}`, isError: true };
    throw error;
  }
}

/** A tool as frameworks describe one. */
export interface Described<Input, Schema, Context> {
  tool: Tool<Input>;
  name: string;
  description: string;
  /** Whatever the framework takes for a schema, such as zod's. */
  schema: Schema;
  /** The conversation of a call, for keys that name it. */
  scope?: (context: Context) => string | undefined;
}
