/** Tools for agents: a name, a description and parameters, whose call becomes an action. */
import type { Factum, Submission } from "./client.js";
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
