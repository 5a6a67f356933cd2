/** The client: fetch only, so that it runs wherever there is fetch. */
import { nothingRecorded, notAnswered, outcomeOf, possibleDuplicate, type Outcome } from "./outcome.js";
import type { Decided, Event, EventPage, Problem, Proposal, Status } from "./status.js";

/** The engine does not take the request as it is; nothing was recorded. `problem` names the member, the rule and the remedy. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(`${problem.title}${problem.code ? ` (${problem.code})` : ""}: ${problem.member ? `${problem.member}: ` : ""}${problem.rule}; ${problem.remedy}`);
    this.name = "Refused";
  }
}

/** The engine did not answer a question. Nothing follows from that about any action. */
export class Unreachable extends Error {
  override name = "Unreachable";
}

export interface Options {
  /** Where the engine is; else the environment's FACTUM_URL, else http://127.0.0.1:7420. */
  url?: string;
  /** Else the environment's FACTUM_TOKEN. */
  token?: string;
  /** How long a request is made again while the engine does not answer. */
  patienceMs?: number;
  /** The language of statements, as a BCP 47 tag. */
  locale?: string;
  fetch?: typeof fetch;
}

export interface Submission {
  /** Names the intent: the same for every repeat, another for a second effect. Instead of it `event` with `effect`. */
  key?: string;
  event?: { source: string; id: string };
  effect?: string;
  params?: Record<string, unknown>;
  summary?: string;
  for?: string;
  conversation?: { id: string; turn?: number; asked?: string };
  deadline?: string;
  not_before?: string;
  intent_at?: string;
  subject?: string;
  locale?: string;
  trace?: string;
  /** A second one like an earlier is really wanted. */
  another?: true;
}

export interface Waiting {
  /** How long the engine is waited for before an answer is given anyway. 4000 unless set. */
  waitMs?: number;
  /** Ends the waiting, and never the action. */
  signal?: AbortSignal | undefined;
}

/** Which events. */
export interface Following extends Waiting {
  /** Only of these types; of all where none is named. */
  types?: string[];
  destination?: string;
  conversation?: string;
}

/** One HTTP request. */
export interface Call {
  method: "GET" | "POST";
  path: string;
  query?: Record<string, string | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** A whole answer, or none; `sent` is false only where no byte of the request can have arrived. */
export type Reply = { status: number; text: string; retryAfterMs: number | undefined } | { broken: string; sent: boolean };

/** What a request may take beyond what the engine was asked to wait. */
export const GRACE_MS = 10_000;
const SLICE_MS = 25_000;
/** With these the engine says that it recorded nothing, and that the same request may come again. */
export const LATER = new Set([429, 503]);
/** Codes of connections that were never made: no byte of a request can have arrived. */
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

export class Factum {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  /** How long a request is made again while the engine does not answer. */
  readonly patienceMs: number;
  readonly #fetch: typeof fetch;

  constructor(options: Options = {}) {
    const environment = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
    this.#url = (options.url ?? environment["FACTUM_URL"] ?? "http://127.0.0.1:7420").replace(/\/+$/, "");
    const token = options.token ?? environment["FACTUM_TOKEN"];
    this.#headers = {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(options.locale ? { "accept-language": options.locale } : {}),
    };
    this.patienceMs = options.patienceMs ?? 20_000;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /**
   * Has something done, once, and comes back after `waitMs` at most with what is known then.
   *
   * Throws `Refused` where the request itself is wrong. Pending and unknown outcomes are returned, and so is an engine that does not
   * answer: a request whose answer is lost is made again with the same key, which joins.
   */
  async perform(destination: string, operation: string, payload: unknown, what: Submission & Waiting): Promise<Outcome> {
    const { waitMs = 4_000, signal, ...members } = what;
    const name = nameOf(members);
    const body = { destination, operation, payload, ...members };
    let maybeSent = false;
    for (const retry = new Retry(this.patienceMs); ; ) {
      const reply = await this.exchange({
        method: "POST",
        path: "/v1/actions",
        body,
        headers: waitMs > 0 ? { prefer: `wait=${waitMs / 1000}` } : {},
        timeoutMs: waitMs + GRACE_MS,
        signal,
      });
      if ("status" in reply && reply.status < 500 && !LATER.has(reply.status)) return submitted(reply, name);
      maybeSent ||= "broken" in reply ? reply.sent : !LATER.has(reply.status);
      if (signal?.aborted || !(await retry.again("broken" in reply ? undefined : reply.retryAfterMs))) {
        return maybeSent ? notAnswered(name) : nothingRecorded(name, `the engine takes nothing on at the moment (${said(reply)})`);
      }
    }
  }

  /** How an action stands, once it is settled or needs a person, or after so long. */
  async wait(action: string, { waitMs = 4_000, signal }: Waiting = {}): Promise<Outcome> {
    for (let left = waitMs; ; ) {
      const now = Math.min(left, SLICE_MS);
      const query = now > 0 ? { wait: String(now / 1000) } : {};
      const status = await this.#ask<Status>({ method: "GET", path: actionPath(action), query, timeoutMs: now + GRACE_MS, signal });
      left -= now;
      if (status.next.do === "none" || status.next.do === "review" || left <= 0) return outcomeOf(status);
    }
  }

  /** How an action stands. */
  status(action: string): Promise<Status> {
    return this.get(actionPath(action));
  }

  /** The newest actions, by key, conversation or state. */
  async actions(query: { key?: string; conversation?: string; state?: string; limit?: string } = {}): Promise<Status[]> {
    return (await this.get<{ actions: Status[] }>("/v1/actions", query)).actions;
  }

  /** No more sends. What may have happened stays unknown until there is evidence. */
  cancel(action: string, why: string): Promise<unknown> {
    return this.post(`${actionPath(action)}/cancel`, { why });
  }

  /** What was asked in a conversation, and what may be said now. */
  conversation(id: string): Promise<unknown> {
    return this.get(`/v1/conversations/${encodeURIComponent(id)}`);
  }

  /** Which statement about an action was passed on, as it was read at which version. */
  told(conversation: string, told: { action: string; version: number; statement: string }): Promise<unknown> {
    return this.post(`/v1/conversations/${encodeURIComponent(conversation)}/told`, told);
  }

  /**
   * Records content for people to decide on; nothing of it is sent before they approve. The same key and content join. `action` is there at once where
   * the operation's policy approves by itself.
   */
  propose(destination: string, operation: string, payload: unknown, what: Submission & { expires_at?: string; supersedes?: string }): Promise<Decided> {
    nameOf(what);
    return this.post("/v1/proposals", { destination, operation, payload, ...what });
  }

  /** One proposal, with exactly what would be sent. */
  proposal(id: string): Promise<Proposal> {
    return this.get(proposalPath(id));
  }

  /** Proposals, oldest first. */
  async proposals(query: { state?: Proposal["state"]; destination?: string; conversation?: string } = {}): Promise<Proposal[]> {
    return (await this.get<{ proposals: Proposal[] }>("/v1/proposals", query)).proposals;
  }

  /** Approves what was looked at, by its digest; `action` is what is done then. Content that was edited meanwhile is refused. */
  approve(id: string, digest: string, more: { reason?: string; until?: string } = {}): Promise<Decided> {
    return this.post(`${proposalPath(id)}/approve`, { digest, ...more });
  }

  /** Declines a proposal, or withdraws one's own. */
  decline(id: string, reason: string): Promise<Decided> {
    return this.post(`${proposalPath(id)}/decline`, { reason });
  }

  /** A page of what has changed behind a cursor, `start` or `now`. `next` leads on, also where nothing was found. */
  eventsPage(after: string, { types = [], waitMs = 0, signal, ...query }: Following = {}): Promise<EventPage> {
    const filter = { ...query, from: after, types: types.join(",") || undefined, wait: String(waitMs / 1000) };
    return this.#ask({ method: "GET", path: "/v1/events", query: filter, timeoutMs: waitMs + GRACE_MS, signal });
  }

  /**
   * What has changed behind a cursor, in order, and then what changes, until the signal is aborted; with `follow: false` until there is nothing more.
   *
   * Keep the `cursor` of the last event that was dealt with, and go on `after` it. An event may come twice, with the same `id`. Throws `Unreachable`
   * once the patience is over, and `Refused` (F1120) where the cursor is older than what is kept.
   */
  async *events(after = "start", { follow = true, waitMs = 25_000, ...filter }: Following & { follow?: boolean } = {}): AsyncGenerator<Event> {
    for (let from = after; !filter.signal?.aborted; ) {
      const page = await this.eventsPage(from, { ...filter, waitMs: follow ? waitMs : 0 }).catch((error: unknown) => {
        if (filter.signal?.aborted) return undefined;
        throw error;
      });
      if (page === undefined) return;
      yield* page.events;
      from = page.next;
      if (!follow && !page.more) return;
    }
  }

  /** Any other question of the API. */
  get<T>(path: string, query: Record<string, string | undefined> = {}): Promise<T> {
    return this.#ask({ method: "GET", path, query, timeoutMs: GRACE_MS });
  }

  /** Any other request of the API. Only where a repeat is harmless: it is made again while the engine says that it did nothing. */
  post<T>(path: string, body: unknown): Promise<T> {
    return this.#ask({ method: "POST", path, body, timeoutMs: GRACE_MS });
  }

  async #ask<T>(call: Call): Promise<T> {
    for (const retry = new Retry(this.patienceMs); ; ) {
      const reply = await this.exchange(call);
      if ("status" in reply && !LATER.has(reply.status)) {
        if (reply.status >= 400) throw new Refused(problemOf(reply));
        return (reply.text === "" ? undefined : JSON.parse(reply.text)) as T;
      }
      if (call.signal?.aborted || !(await retry.again("broken" in reply ? undefined : reply.retryAfterMs))) {
        throw new Unreachable(`${call.method} ${call.path}: ${said(reply)}`);
      }
    }
  }

  /** One request, made once: for what has to be decided anew before it is repeated. */
  async exchange(call: Call): Promise<Reply> {
    const query = new URLSearchParams(Object.entries(call.query ?? {}).filter((pair): pair is [string, string] => pair[1] !== undefined));
    const url = `${this.#url}${call.path}${query.size > 0 ? `?${query}` : ""}`;
    const timeout = AbortSignal.timeout(call.timeoutMs);
    try {
      const response = await this.#fetch(url, {
        method: call.method,
        headers: { ...this.#headers, ...call.headers, ...(call.body === undefined ? {} : { "content-type": "application/json" }) },
        redirect: "manual",
        signal: call.signal ? AbortSignal.any([timeout, call.signal]) : timeout,
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      });
      const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
      return { status: response.status, text: await response.text(), retryAfterMs: Number.isNaN(seconds) ? undefined : seconds * 1000 };
    } catch (error) {
      const cause = (error as { cause?: { code?: string } }).cause?.code ?? "";
      return { broken: String(error), sent: !NOT_SENT.has(cause) };
    }
  }
}

/** When the same request is made again: soon, then less often, until the patience ends. */
export class Retry {
  #attempt = 0;
  #spentMs = 0;

  constructor(private readonly patienceMs: number) {}

  async again(afterMs: number | undefined): Promise<boolean> {
    this.#attempt += 1;
    const pause = afterMs ?? Math.min(100 * 2 ** Math.min(this.#attempt, 8), 2_000) * (0.5 + Math.random() / 2);
    this.#spentMs += pause;
    if (this.#spentMs > this.patienceMs) return false;
    await new Promise((done) => setTimeout(done, pause));
    return true;
  }
}

function actionPath(action: string): string {
  return `/v1/actions/${encodeURIComponent(action)}`;
}

function proposalPath(id: string): string {
  return `/v1/proposals/${encodeURIComponent(id)}`;
}

function nameOf(members: Submission): string {
  if (members.key !== undefined && members.event === undefined) return members.key;
  if (members.key === undefined && members.event !== undefined) return `${members.event.source}/${members.event.id}/${members.effect}`;
  throw new TypeError("name the intent: either `key`, built from what causes it, or `event` with `effect`");
}

function submitted(reply: { status: number; text: string }, name: string): Outcome {
  if (reply.status < 300) return outcomeOf(JSON.parse(reply.text) as Status);
  const problem = problemOf(reply);
  if (problem.type.endsWith(":possible-duplicate")) return possibleDuplicate(name, problem.action);
  throw new Refused(problem);
}

/** Why the engine did not carry a request out. */
export function problemOf(reply: { status: number; text: string }): Problem {
  try {
    const problem = JSON.parse(reply.text) as Problem;
    if (typeof problem.rule === "string" && typeof problem.type === "string") return problem;
  } catch {
    // Said below.
  }
  const rule = `status ${reply.status}: ${reply.text.slice(0, 200)}`;
  return { title: "not an answer of Factum's", status: reply.status, rule, remedy: "check the address in FACTUM_URL", type: "" };
}

function said(reply: Reply): string {
  if ("broken" in reply) return reply.broken;
  const problem = problemOf(reply);
  return `${problem.title}: ${problem.rule}`;
}
