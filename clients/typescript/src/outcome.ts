/**
 * What a call comes back with: one of five, told apart by `kind`. None of them is thrown.
 *
 *     const outcome = await factum.perform("helpdesk", "ticket.create", payload, { key: "order/77/ticket" });
 *     switch (outcome.kind) {
 *       case "done": …       // it exists
 *       case "not_done": …   // proven: nothing happened
 *       case "pending":
 *       case "unknown": reply(outcome.say)
 *     }
 */
import type { Status } from "./status.js";

interface Common {
  /** The caller's name for the intent. Calling again with it joins, and never sends twice. */
  key: string;
  /** The action's id; undefined where the engine could not be asked. */
  id: string | undefined;
  status: Status | undefined;
  /** What may be said to whoever asked. */
  say: string;
  /** What must not be said. */
  neverSay: string[];
  /** The text for a language model. `isError` is true only where it is certain that nothing happened. */
  forModel: { text: string; isError: boolean };
}

/** The effect exists. A person's verdict can do without a receipt. */
export interface Done extends Common {
  kind: "done";
  receipt: string | undefined;
}

/** Proven: nothing happened, and nothing will by itself. */
export interface NotDone extends Common {
  kind: "not_done";
  because: string;
  /** The same call may be made again with the same key: nothing was recorded. */
  tryAgain: boolean;
}

/** Recorded, and not finished; nothing speaks for a lost answer. */
export interface Pending extends Common {
  kind: "pending";
}

/**
 * It may have happened. The engine is finding out, a person is, or nobody can any more. Without a `status` the engine itself did not answer, and
 * whether it recorded the request is open: the same key settles that.
 */
export interface Unknown extends Common {
  kind: "unknown";
  asksAPerson: boolean;
}

/** Nothing was recorded: the same was asked for under another key a moment ago. `another: true` overrides. */
export interface PossibleDuplicate extends Common {
  kind: "possible_duplicate";
  /** The earlier action. */
  earlier: string | undefined;
}

export type Outcome = Done | NotDone | Pending | Unknown | PossibleDuplicate;

const NOT_DONE: Partial<Record<Status["state"], string>> = {
  terminal_failure: "it was declined",
  cancelled: "it was withdrawn",
  expired: "it was not done in time",
};

function common(status: Status, text: string, isError = false): Common {
  return {
    key: status.key,
    id: status.id,
    status,
    say: status.statement.say,
    neverSay: status.statement.never_say,
    forModel: { text, isError },
  };
}

/** What a status amounts to. */
export function outcomeOf(status: Status): Outcome {
  const because = status.because ?? NOT_DONE[status.state];
  if (status.state === "succeeded") {
    const receipt = status.receipt?.reference;
    return { kind: "done", receipt, ...common(status, doneText(status, receipt)) };
  }
  if (status.state in NOT_DONE && because !== undefined) {
    const text = `Not done: ${because}. Nothing happened. Repeating the same call gives the same answer. Action ${status.id}.`;
    return { kind: "not_done", because, tryAgain: false, ...common(status, text, true) };
  }
  if (status.state === "outcome_unknown" || status.next.do === "review") {
    return { kind: "unknown", asksAPerson: status.next.do === "review", ...common(status, unknownText(status)) };
  }
  const text =
    `Not finished yet. Do not call this tool again for the same request. Check with get_action ${status.id} in about 5 s. ` +
    `Do not say that it is done. You may say: ${status.statement.say}`;
  return { kind: "pending", ...common(status, text) };
}

function doneText(status: Status, receipt: string | undefined): string {
  const what = status.summary ?? `${status.operation} at ${status.destination}`;
  const reference = receipt === undefined ? "" : `, reference ${receipt}`;
  return status.joined
    ? `This was already done (${what}${reference}); nothing was sent again. Action ${status.id}.`
    : `Done: ${what}${reference}. Action ${status.id}.`;
}

function unknownText(status: Status): string {
  const say = `You may say: ${status.statement.say}`;
  if (status.closed) {
    return `Whether it happened can no longer be found out; a person has ended the search. Do not repeat it. ${say} Action ${status.id}.`;
  }
  if (status.next.do === "review") {
    return (
      "Whether it happened could not be determined automatically. A person has to check. Do not call this tool again. " +
      `${say} Action ${status.id}.`
    );
  }
  return (
    "Outcome not known: it was sent and the answer was lost. It may or may not exist. Do not call this tool again. " +
    `Say that it is being checked; get_action ${status.id} has the answer. ${say}`
  );
}

function without(key: string, text: string, isError: boolean): Common {
  return { key, id: undefined, status: undefined, say: text, neverSay: [], forModel: { text, isError } };
}

/** The engine certainly recorded nothing. */
export function nothingRecorded(key: string, because: string): NotDone {
  const text = `Not done: ${because}. Nothing was recorded or sent. Calling again with the same request_key is safe.`;
  return { kind: "not_done", because, tryAgain: true, ...without(key, text, true) };
}

/** The engine did not answer, and may have recorded it. */
export function notAnswered(key: string): Unknown {
  const text =
    "Not known whether the request was taken: the connection broke. It may be carried out. " +
    `If it is repeated, use the same request_key "${key}": it cannot happen twice then. Do not say that it is done, or that it failed.`;
  return { kind: "unknown", asksAPerson: false, ...without(key, text, false) };
}

/** The same was asked for under another key. */
export function possibleDuplicate(key: string, earlier: string | undefined): PossibleDuplicate {
  const where = earlier === undefined ? "" : ` (${earlier})`;
  const text = `Not sent: the same was already asked for a moment ago${where}. If a second one is really wanted, call again with another=true.`;
  return { kind: "possible_duplicate", earlier, ...without(key, text, false) };
}
