/**
 * Effects that the caller makes in its own code: a worker that claims what waits, and a single attempt in place. The engine keeps what is known.
 *
 * The order is the point. A begin is durable before the first byte of the caller's own call; it is handed out once; and a report is a fact, which is
 * repeated until the engine has it. One begin is one call: turn off retries, redirects and queues in the system's library.
 */
import { GRACE_MS, LATER, problemOf, Refused, Retry, Unreachable, type Factum, type Submission } from "./client.js";
import { notAnswered, outcomeOf, type Outcome } from "./outcome.js";
import type { Status } from "./status.js";

/** What became of a call, or what a lookup found. Made by the functions below. */
export interface Report {
  outcome: string;
  [member: string]: unknown;
}

/** The longest `why` that the engine takes. */
const WHY_MAX = 2_000;
const because = (outcome: string, why: unknown): Report => ({ outcome, why: String(why).trim().slice(0, WHY_MAX) || "no reason was given" });

/** The effect exists. `receipt` is the system's own reference for it. */
export const done = (receipt: string | number, ...aliases: string[]): Report => ({ outcome: "done", receipt: String(receipt), aliases });
/** Queued there; a later `done` completes it. */
export const accepted = (object?: string): Report => ({ outcome: "accepted", ...(object === undefined ? {} : { object }) });
/** Refused before doing anything, for good. Only where that is certain. */
export const rejected = (why: unknown): Report => because("rejected", why);
/** Refused, and recorded there, as a declined card is. */
export const declined = (why: unknown): Report => because("declined", why);
/** Refused for now, before doing anything. */
export const busy = (afterMs?: number): Report => ({ outcome: "busy", ...(afterMs === undefined ? {} : { retry_after_s: Math.ceil(afterMs / 1000) }) });
/** Certainly nothing left this program. */
export const notSent = (why: unknown): Report => because("not_sent", why);
/** It may or may not have happened. When in doubt, this is right. */
export const unknown = (why: unknown): Report => because("unknown", why);
/** The system's answer as it came; the operation's contract reads it. */
export const answered = (answer: { status: number; headers?: Record<string, string>; body?: string }): Report => ({ outcome: "answered", answer });
/** A lookup found it. Several are a suspected duplicate. */
export const found = (...receipts: (string | number)[]): Report => ({ outcome: "found", receipts: receipts.map(String) });
/** A lookup found it, still queued. */
export const queued = (object: string): Report => ({ outcome: "queued", object });
/** A lookup was complete, and found nothing of ours. */
export const absent = (): Report => ({ outcome: "absent" });
/** A lookup failed, or says nothing. */
export const inconclusive = (why: unknown): Report => because("inconclusive", why);

/** Thrown by a caller's own function where certainly nothing left this program: the action is tried again. */
export class NotSent extends Error {
  override name = "NotSent";
}

/** Something to do, held for this caller until its lease ends. */
export interface Task {
  claim: string;
  kind: "send" | "look_up";
  action: string;
  destination: string;
  operation: string;
  for: string;
  summary: string | null;
  subject: string | null;
  params: Record<string, unknown>;
  payload: unknown;
  /** To be passed on so that the system recognises a repeat. A send's is final with its begin. */
  key: string;
  /** To be written into the system's record, so that a lookup finds it. It never changes. */
  reference: string;
  trace: string | null;
  /** Begun so far. */
  attempts: number;
  /** What a lookup asks by. */
  by: "reference" | "key" | null;
}

/** The permission to make one call. */
export interface Begun {
  attempt: number;
  permission: string;
  key: string;
  reference: string;
  /** The call may take so long: the timeout for the system's library. */
  limitMs: number;
  /** Until it counts as lost, if no word comes. */
  leaseMs: number;
  /** The call's first byte has to leave within so long, from now. */
  leftMs(): number;
}

/** Takes what waits. A claim whose answer is lost is free again when its lease ends. */
export async function claim(
  factum: Factum,
  wish: { destinations: string[]; operations: string[]; actions?: string[]; kind?: Task["kind"]; max: number; lease_s: number },
  waitMs: number,
): Promise<Task[]> {
  for (const retry = new Retry(factum.patienceMs); ; ) {
    const query = { wait: String(Math.round(waitMs / 1000)) };
    const reply = await factum.exchange({ method: "POST", path: "/v1/work/claim", query, body: wish, timeoutMs: waitMs + GRACE_MS });
    if (answers(reply)) {
      if (reply.status !== 200) throw new Refused(problemOf(reply));
      return (JSON.parse(reply.text) as { items: Task[] }).items;
    }
    if (!(await retry.again(later(reply)))) throw new Unreachable("POST /v1/work/claim: no answer");
  }
}

/** Frees a claim under which nothing was begun. If that fails, its lease ends by itself. */
export async function giveBack(factum: Factum, task: Task): Promise<void> {
  await factum.exchange({ method: "POST", path: workPath(task, "return"), body: {}, timeoutMs: GRACE_MS });
}

/** Marks an attempt, durably. Undefined where there is no permission; then nothing may be sent, and whatever there was to say is said. */
export async function begin(factum: Factum, task: Task): Promise<Begun | undefined> {
  for (const retry = new Retry(factum.patienceMs); ; ) {
    // The time counts from before the begin is sent.
    const askedAt = performance.now();
    const reply = await factum.exchange({ method: "POST", path: workPath(task, "begin"), body: {}, timeoutMs: GRACE_MS });
    if (answers(reply)) {
      if (reply.status === 200) return begun(reply.text, askedAt);
      // The permission went astray with an answer. This program makes a call only after a begin that it saw succeed.
      if (problemOf(reply).code === "F1102") await report(factum, task, notSent("the answer to the begin was lost"));
      return undefined;
    }
    if (!(await retry.again(later(reply)))) {
      // Nobody knows whether the begin was recorded. If it was not, this is refused, and right as well.
      await report(factum, task, notSent("the begin was not answered")).catch((error: unknown) => {
        if (!(error instanceof Refused)) throw error;
      });
      return undefined;
    }
  }
}

function begun(text: string, askedAt: number): Begun {
  const said = JSON.parse(text) as Record<"key" | "reference" | "permission" | "valid_until" | "leased_until", string> &
    Record<"attempt" | "valid_for_ms" | "limit_ms", number>;
  const { attempt, permission, key, reference } = said;
  const leaseMs = Date.parse(said.leased_until) - Date.parse(said.valid_until) + said.valid_for_ms;
  return { attempt, permission, key, reference, limitMs: said.limit_ms, leaseMs, leftMs: () => askedAt + said.valid_for_ms - performance.now() };
}

/**
 * Says what became of it, until the engine has it or the patience ends (undefined). Throws `Refused` where the report is not taken.
 */
export async function report(factum: Factum, task: Task, said: Report, patienceMs = factum.patienceMs): Promise<Status | undefined> {
  for (const retry = new Retry(patienceMs); ; ) {
    const reply = await factum.exchange({ method: "POST", path: workPath(task, "report"), body: said, timeoutMs: GRACE_MS });
    if (answers(reply)) {
      if (reply.status !== 200) throw new Refused(problemOf(reply));
      return (JSON.parse(reply.text) as { action: Status }).action;
    }
    if (!(await retry.again(later(reply)))) return undefined;
  }
}

/** Says that the work goes on, until the function that it gives is called. */
export function heartbeats(factum: Factum, task: Task, leaseMs: number): () => void {
  const timer = setInterval(() => {
    void factum.exchange({ method: "POST", path: workPath(task, "heartbeat"), body: {}, timeoutMs: GRACE_MS }).then((reply) => {
      if (answers(reply) && reply.status !== 200) clearInterval(timer);
    });
  }, Math.max(leaseMs / 3, 200));
  return () => clearInterval(timer);
}

type Exchanged = Awaited<ReturnType<Factum["exchange"]>>;

/** Whether a reply settles the request; else the same request may come again. */
function answers(reply: Exchanged): reply is Extract<Exchanged, { status: number }> {
  return "status" in reply && reply.status < 500 && !LATER.has(reply.status);
}

function later(reply: Exchanged): number | undefined {
  return "status" in reply ? reply.retryAfterMs : undefined;
}

function workPath(task: Task, what: string): string {
  return `/v1/work/${encodeURIComponent(task.claim)}/${what}`;
}

/** What is reported for a function that threw. */
export function thrown(outcome: "unknown" | "inconclusive", error: unknown): Report {
  return error instanceof NotSent && outcome === "unknown" ? notSent(error.message) : because(outcome, error);
}

export interface AttemptOptions extends Omit<Submission, "key" | "event" | "effect" | "another"> {
  /** Names the intent, as for `perform`. */
  key: string;
  /** How long to wait until the action is free. 4000 unless set. */
  waitMs?: number;
  /** Finds out whether an earlier try exists, where the operation says that this can be done. */
  look?: (task: Task) => Promise<Report>;
}

/**
 * An effect of the caller's own making, at a destination with the provider `work`: the intent is durable first, and what is not said counts as unknown.
 *
 *     const outcome = await attempt(factum, "post", "letter.send", { to: "ana" }, { key: "order/77/letter" }, async ({ limitMs }) =>
 *       done(await printer.print("ana", { timeoutMs: limitMs })));
 *
 * The function is not called where nothing may be sent: it was done before, is being done, was withdrawn, or a person has to say what became of an earlier
 * try; the outcome says which. What it throws is not thrown on: it is reported as unknown, or with `NotSent` as certainly not sent. Give such operations
 * to no other worker.
 */
export async function attempt(
  factum: Factum,
  destination: string,
  operation: string,
  payload: unknown,
  { waitMs = 4_000, look, ...members }: AttemptOptions,
  make: (begun: Begun) => Promise<Report>,
): Promise<Outcome> {
  let outcome = await factum.perform(destination, operation, payload, { ...members, waitMs: 0 });
  const end = Date.now() + waitMs;
  for (let left = waitMs; isOpen(outcome); left = end - Date.now()) {
    const task = await take(factum, outcome, { destinations: [destination], operations: [operation] }, Math.min(1_000, Math.max(0, left)));
    if (task?.kind === "send") return sent(factum, task, outcome, make);
    if (task !== undefined && look !== undefined) {
      const said = await look(task).catch((error: unknown) => thrown("inconclusive", error));
      await report(factum, task, said);
    } else if (task !== undefined) {
      await giveBack(factum, task);
    }
    outcome = await factum.wait(outcome.id ?? "", { waitMs: 0 });
    if (Date.now() >= end) return outcome;
  }
  return outcome;
}

/** Whether a worker may be asked to do something about it. */
function isOpen(outcome: Outcome): boolean {
  return (outcome.kind === "pending" || outcome.kind === "unknown") && ["send", "look_up", "wait"].includes(outcome.status?.next.do ?? "none");
}

/** Claims one action. */
async function take(factum: Factum, outcome: Outcome, of: { destinations: string[]; operations: string[] }, waitMs: number): Promise<Task | undefined> {
  const actions = outcome.id === undefined ? [] : [outcome.id];
  const [ours] = await claim(factum, { ...of, actions, max: 1, lease_s: 60 }, waitMs);
  return ours;
}

async function sent(factum: Factum, task: Task, outcome: Outcome, make: (begun: Begun) => Promise<Report>): Promise<Outcome> {
  const said = await called(factum, task, make);
  if (said === undefined) return factum.wait(task.action, { waitMs: 0 });
  const status = await report(factum, task, said);
  // An engine that does not answer finds by itself that no word came: the lease ends, and the outcome is unknown.
  return status ? outcomeOf(status) : notAnswered(outcome.key);
}

/** Begins, and makes the call. Undefined where nothing may be sent. */
export async function called(factum: Factum, task: Task, make: (begun: Begun) => Promise<Report>): Promise<Report | undefined> {
  const permission = await begin(factum, task);
  if (permission === undefined) return undefined;
  if (permission.leftMs() <= 0) return notSent("the permission ran out before the call");
  const quiet = heartbeats(factum, task, permission.leaseMs);
  try {
    return await make(permission);
  } catch (error) {
    return thrown("unknown", error);
  } finally {
    quiet();
  }
}
