/**
 * A worker: it makes a system's calls in its own code, and the engine keeps what is known about each of them.
 *
 *     const worker = new Worker(factum, ["crm"], {
 *       "contact.create": {
 *         send: async (task, { reference, limitMs }) => done((await crm.create(task.payload, { reference, timeoutMs: limitMs })).id),
 *         lookUp: async (task) => found(...(await crm.search(task.reference))),
 *       },
 *     });
 *     await worker.run({ signal });
 */
import { Refused, type Factum } from "./client.js";
import { called, claim, giveBack, heartbeats, inconclusive, report, thrown, unknown, type Begun, type Report, type Task } from "./work.js";

/** How a worker carries an operation out. */
export interface Carrier {
  /** Makes the call, after its begin. What it throws is reported as unknown, but for `NotSent`. */
  send?: (task: Task, begun: Begun) => Promise<Report>;
  /** Runs before the begin (a login, a download). If it throws, nothing was begun, and the task is given back. */
  prepare?: (task: Task) => Promise<unknown>;
  /** Finds out whether an effect exists. What it throws is reported as inconclusive. */
  lookUp?: (task: Task) => Promise<Report>;
}

export interface WorkerOptions {
  /** How long a claim is held without word; heartbeats extend it. 60000 unless set. */
  leaseMs?: number;
  /** Told what a function threw, and which report was refused. */
  onError?: (error: unknown, task: Task) => void;
}

const PAUSE_MAX_MS = 30_000;

/** Claims what waits at some destinations, and has it done by functions. One thing at a time: run more of them for more. */
export class Worker {
  readonly #leaseMs: number;
  readonly #onError: (error: unknown, task: Task) => void;
  #failed = 0;

  constructor(
    private readonly factum: Factum,
    private readonly destinations: string[],
    private readonly carriers: Record<string, Carrier>,
    { leaseMs = 60_000, onError = (error, task) => console.error(`factum: ${task.operation} ${task.action}:`, error) }: WorkerOptions = {},
  ) {
    this.#leaseMs = leaseMs;
    this.#onError = onError;
  }

  /** Works until the signal is aborted and what is being done is done, or until there was nothing to do for `idleMs`. */
  async run({ signal, idleMs = Number.POSITIVE_INFINITY }: { signal?: AbortSignal; idleMs?: number } = {}): Promise<void> {
    for (let last = Date.now(); !signal?.aborted && Date.now() - last < idleMs; ) {
      if (await this.once(Math.min(idleMs, 20_000))) last = Date.now();
    }
  }

  /** Does the next thing that waits, and says whether there was one. */
  async once(waitMs = 0): Promise<boolean> {
    for (const { kind, operations, shareMs } of this.#wishes(waitMs)) {
      const wish = { destinations: this.destinations, operations, ...(kind ? { kind } : {}), max: 1, lease_s: Math.ceil(this.#leaseMs / 1000) };
      const [task] = await claim(this.factum, wish, shareMs);
      if (task === undefined) continue;
      await this.#do(task);
      return true;
    }
    return false;
  }

  /** What is claimed: in one request where both kinds are known of every operation, else in one for each kind. */
  #wishes(waitMs: number): { kind?: Task["kind"]; operations: string[]; shareMs: number }[] {
    const able = (what: "send" | "lookUp") => Object.keys(this.carriers).filter((name) => this.carriers[name]?.[what] !== undefined);
    const [sends, looks] = [able("send"), able("lookUp")];
    if (sends.join() === looks.join()) return [{ operations: sends, shareMs: waitMs }];
    const both = [{ kind: "send" as const, operations: sends }, { kind: "look_up" as const, operations: looks }];
    const some = both.filter(({ operations }) => operations.length > 0);
    return some.map((wish) => ({ ...wish, shareMs: some.length === 1 ? waitMs : Math.min(waitMs, 1_000) }));
  }

  async #do(task: Task): Promise<void> {
    const carrier = this.carriers[task.operation];
    if (task.kind === "look_up") {
      const said = await this.#held(task, () => carrier?.lookUp?.(task)).catch((error: unknown) => this.#heard(task, "inconclusive", error));
      await this.#report(task, said ?? inconclusive("the worker's function gave no report"));
    } else if (await this.#prepared(task, carrier)) {
      const said = await called(this.factum, task, async (begun) => {
        const made = carrier?.send?.(task, begun).catch((error: unknown) => this.#heard(task, "unknown", error));
        return (await made) ?? unknown("the worker's function gave no report");
      });
      if (said !== undefined) await this.#report(task, said);
    }
  }

  async #prepared(task: Task, carrier: Carrier | undefined): Promise<boolean> {
    try {
      await this.#held(task, () => carrier?.prepare?.(task));
      this.#failed = 0;
      return true;
    } catch (error) {
      this.#onError(error, task);
      await giveBack(this.factum, task);
      // It is free at once, for others too: this worker holds back for a while.
      this.#failed += 1;
      await new Promise((over) => setTimeout(over, Math.min(500 * 2 ** this.#failed, PAUSE_MAX_MS)));
      return false;
    }
  }

  /** Runs something while heartbeats go out for the claim. */
  async #held<T>(task: Task, function_: () => Promise<T> | undefined): Promise<T | undefined> {
    const quiet = heartbeats(this.factum, task, this.#leaseMs);
    try {
      return await function_();
    } finally {
      quiet();
    }
  }

  #heard(task: Task, outcome: "unknown" | "inconclusive", error: unknown): Report {
    this.#onError(error, task);
    return thrown(outcome, error);
  }

  /** A report is a fact: it is repeated until the engine has it. */
  async #report(task: Task, said: Report): Promise<void> {
    try {
      await report(this.factum, task, said, Number.POSITIVE_INFINITY);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#onError(error, task);
      if (task.kind === "send" && said.outcome !== "unknown") await this.#report(task, unknown(`the worker's report was refused: ${error.message}`));
    }
  }
}
