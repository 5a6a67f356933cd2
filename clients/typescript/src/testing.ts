/**
 * An engine and a destination that loses answers, for tests on Node: to see what an agent does when it meets an unknown outcome. Needs the program
 * `factum`: in FACTUM_BIN, in the npm package `factum-engine`, or on the path. Everything listens on loopback, on free ports.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Factum, type Options } from "./client.js";

export interface PlaygroundOptions {
  /** Names and providers, all served by the one testbed. */
  destinations?: Record<string, string>;
  /** Operations of the catalogue to stand in for, as in `zendesk.ticket.create`. */
  standIns?: string[];
  /** More text for factum.toml. */
  settings?: string;
}

/** `factum testbed` and `factum serve` in a folder of their own. */
export class Playground {
  readonly #children: ChildProcess[] = [];

  private constructor(
    readonly folder: string,
    readonly url: string,
    private admin: string,
    /** Where the testbed is. */
    public destination: string,
  ) {}

  static async start(options: PlaygroundOptions = {}): Promise<Playground> {
    const folder = await mkdtemp(join(tmpdir(), "factum-playground"));
    const port = await freePort();
    const ground = new Playground(folder, `http://127.0.0.1:${port}`, "", "");
    try {
      await ground.#startTestbed(options.standIns ?? []);
      const lines = [`server.listen = "127.0.0.1:${port}"`, 'store.url = "sqlite:./factum-data/factum.db"'];
      for (const [name, provider] of Object.entries(options.destinations ?? { bed: "testbed" })) {
        lines.push(`[destinations.${name}]`, `provider = "${provider}"`, `base = "${ground.destination}"`, 'account = "playground"');
        lines.push('limits.answer_wait = "2 s"');
      }
      await writeFile(join(folder, "factum.toml"), [...lines, options.settings ?? "", ""].join("\n"));
      await ground.startEngine();
      return ground;
    } catch (error) {
      await ground.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const child of this.#children.reverse()) await ended(child, "SIGTERM");
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The administrator's. */
  token(): string {
    return readFileSync(join(this.folder, "factum-data/admin.token"), "utf8").trim();
  }

  /** A client of the engine. */
  async factum(options: Options = {}): Promise<Factum> {
    return new Factum({ url: this.url, token: this.token(), ...options });
  }

  /** Which requests are hit by what from now on, in the words of `factum testbed --help`; an empty text ends faults. */
  async faults(rules: string): Promise<void> {
    const answer = await fetch(`${this.admin}/faults`, { method: "PUT", body: rules });
    if (!answer.ok) throw new Error(await answer.text());
  }

  /** The next effect request is carried out, and its answer does not arrive. */
  loseNextAnswer(): Promise<void> {
    return this.faults("close_fin,n=1,class=effect");
  }

  /** What really happened at the destination. */
  async counts(): Promise<{ total_effects: number; by_business: Record<string, number> }> {
    return (await (await fetch(`${this.admin}/ledger/counts`)).json()) as { total_effects: number; by_business: Record<string, number> };
  }

  /** As a power cut: the engine's process ends at once. */
  async killEngine(): Promise<void> {
    const engine = this.#children.pop();
    if (engine) await ended(engine, "SIGKILL");
  }

  /** Starts the engine on what it had recorded. */
  async startEngine(): Promise<void> {
    const log = openSync(join(this.folder, "factum.log"), "a");
    const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FACTUM_")));
    const engine = spawn(program(), ["serve"], { cwd: this.folder, stdio: ["ignore", log, log], env: environment });
    this.#children.push(engine);
    for (let left = 600; left > 0; left--) {
      const ready = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (ready?.ok) return;
      if (engine.exitCode !== null) break;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error(`the engine did not start:\n${await readFile(join(this.folder, "factum.log"), "utf8")}`);
  }

  async #startTestbed(standIns: string[]): Promise<void> {
    const log = openSync(join(this.folder, "testbed.log"), "a");
    const words = ["--json", "testbed", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    const child = spawn(program(), [...words, ...standIns.flatMap((operation) => ["--stand-in", operation])], { stdio: ["ignore", "pipe", log] });
    this.#children.push(child);
    if (!child.stdout) throw new Error("the testbed has no output");
    for await (const line of createInterface({ input: child.stdout })) {
      const started = JSON.parse(line) as { address: string; admin: string };
      [this.destination, this.admin] = [started.address, started.admin];
      return;
    }
    throw new Error(`the testbed did not start:\n${await readFile(join(this.folder, "testbed.log"), "utf8")}`);
  }
}

function program(): string {
  const named = process.env["FACTUM_BIN"];
  if (named !== undefined) return named;
  try {
    return createRequire(import.meta.url).resolve("factum-engine/bin/factum");
  } catch {
    return "factum";
  }
}

async function ended(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((done) => child.once("exit", done));
  child.kill(signal);
  const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
  await gone;
  clearTimeout(late);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
