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

/** Content to be decided on before anything is sent. `digest` names exactly what would be sent. */
export interface Proposal {
  id: string;
  state: "pending" | "approved" | "declined" | "superseded" | "expired";
  digest: string;
  key: string;
  destination: string;
  operation: string;
  for: string;
  asked_by: string;
  summary: string | null;
  created_at: string;
  expires_at: string;
  /** How many have to approve. */
  people: number;
  /** `by` is null where the operation's policy approved. */
  approvals: { by: string | null; at: string; until: string | null; reason: string | null }[];
  statement: Status["statement"];
  /** The id of what became of it. */
  action: string | null;
  superseded_by: string | null;
  /** The request byte for byte, without secrets, where one proposal was asked for; null where an application carries it in its own code. */
  request?: { method: string; address: string; headers: { name: string; value: string }[]; body: string | null } | null;
  /** Why it cannot be approved as it is, where one proposal was asked for. */
  stale?: string | null;
}

/** A proposal as it stands, and its action once there is one. */
export interface Decided {
  proposal: Proposal;
  action: Status | null;
}

/** Something has changed. It may come twice: `id` stays the same then, and `cursor` is the place behind it. */
export interface Event {
  id: string;
  cursor: string;
  type: string;
  timestamp: string;
  tenant: string;
  /** `action` is as it was at the change in state, receipt and version. */
  data: { action?: Status } & Record<string, unknown>;
}

/** Events in their order. */
export interface EventPage {
  events: Event[];
  next: string;
  more: boolean;
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
