/** The status object of the HTTP API. A newer engine may send members that are not named here. */

export type State =
  | "pending"
  | "dispatching"
  | "accepted"
  | "succeeded"
  | "retryable_failure"
  | "terminal_failure"
  | "outcome_unknown"
  | "cancelled"
  | "expired";

export interface Status {
  id: string;
  joined: boolean;
  created_at: string;
  key: string;
  destination: string;
  operation: string;
  for: string;
  summary: string | null;
  conversation: string | null;
  state: State;
  happened: "yes" | "no" | "not_yet" | "unknown";
  /** Speaks of a new key. The same key always joins, and is always safe. */
  safe_to_call_again: boolean;
  /** What the engine will do by itself, when, and why. */
  next: { do: "send" | "look_up" | "poll" | "cancel_by_key" | "wait" | "review" | "none"; at: string | null; why: string };
  /** What may be said as it stands, and what may not. */
  statement: { key: string; say: string; never_say: string[]; locale: string };
  /** The destination's own reference for the effect. */
  receipt: { reference: string; aliases?: string[] } | null;
  because: string | null;
  version: number;
  attempts: number;
  revised: boolean;
  duplicate_suspected: boolean;
  closed: { by: string; why: string; at: string } | null;
  contact: { say: string; by: string | null; late: boolean } | null;
}

/** Why a request was not carried out (RFC 9457). */
export interface Problem {
  title: string;
  status: number;
  rule: string;
  remedy: string;
  type: string;
  code?: string;
  member?: string;
  action?: string;
  retry_after?: number;
}
