/** Workers, attempts, decisions and events against a real engine; the calls go to a system that loses answers. Effects are counted there. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { absent, attempt, done, found, NotSent, rejected, Refused, Worker, type Factum, type Task } from "../src/index.js";
import { Playground } from "../src/testing.js";

const settings = `
[destinations.crm]
provider = "work"
limits = { send_wait = "2 s", work_lease = "2 s" }

[destinations.crm.work."contact.create"]
limit = "10 s"
processing_max = "2 s"
look_up = { complete = true }
by = "crm-team"
reason = "the search shows every contact at once"

[destinations.crm.work."letter.send"]
limit = "10 s"
`;
let ground: Playground;
let factum: Factum;

before(async () => {
  ground = await Playground.start({ settings });
  factum = await ground.factum();
});
after(() => ground.stop());
beforeEach(() => ground.faults(""));

async function effects(business: string): Promise<number> {
  return (await ground.counts()).by_business[business] ?? 0;
}

/** The call of a worker: one request, and the system's reference for what it made. */
async function make(path: string, body: unknown): Promise<string> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${ground.destination}/${path}/effects`, { method: "POST", headers, body: JSON.stringify(body) });
  if (answer.status !== 201) throw new Error(`status ${answer.status}`);
  return ((await answer.json()) as { id: string }).id;
}

const printed = async (task: Task) => done(await make("neither/sync", task.payload));
const quiet = { onError: () => undefined };

test("a worker is given its call once, and finds what a lost answer made", async () => {
  const called: number[] = [];
  const worker = new Worker(factum, ["crm"], {
    "contact.create": {
      send: async (task, begun) => {
        called.push(begun.attempt);
        return done(await make("lookup/sync", { ...(task.payload as object), reference: begun.reference }));
      },
      lookUp: async ({ reference }) => {
        const answer = await fetch(`${ground.destination}/lookup/sync/effects?reference=${reference}&limit=50`);
        const { items } = (await answer.json()) as { items: { id: string; reference: string }[] };
        const ours = items.filter((row) => row.reference === reference).map((row) => row.id);
        return ours.length > 0 ? found(...ours) : absent();
      },
    },
  }, quiet);
  await ground.loseNextAnswer();
  const begun = await factum.perform("crm", "contact.create", { business: "ana" }, { key: "ana/contact", waitMs: 0 });
  await worker.run({ idleMs: 3_000 });
  assert.equal((await factum.wait(begun.id ?? "", { waitMs: 0 })).kind, "done");
  assert.deepEqual(called, [1]);
  assert.equal(await effects("ana"), 1);
});

test("what throws after the begin is unknown, before it nothing is marked, and what certainly did not leave is tried again", async () => {
  const tries: string[] = [];
  let prepared = 0;
  const worker = new Worker(factum, ["crm"], {
    "letter.send": {
      prepare: async (task) => {
        if ((task.payload as { business: string }).business === "prepared" && prepared++ === 0) throw new Error("the VPN is down");
      },
      send: async (task) => {
        const { business } = task.payload as { business: string };
        tries.push(business);
        if (business === "no paper") return rejected("there is no paper of this size");
        if (business === "off" && tries.filter((name) => name === "off").length === 1) throw new NotSent("the printer is switched off");
        const printedOne = await printed(task);
        if (business === "torn") throw new Error("the printer's answer makes no sense");
        return printedOne;
      },
    },
  }, quiet);
  const ids: Record<string, string> = {};
  for (const business of ["torn", "prepared", "off", "no paper"]) {
    ids[business] = (await factum.perform("crm", "letter.send", { business }, { key: `letter/${business}`, waitMs: 0 })).id ?? "";
  }
  await worker.run({ idleMs: 4_000 });
  const kind = async (business: string) => (await factum.wait(ids[business] ?? "", { waitMs: 0 })).kind;
  assert.deepEqual(
    await Promise.all(["torn", "prepared", "off", "no paper"].map(kind)),
    ["unknown", "done", "done", "not_done"],
  );
  assert.equal((await factum.status(ids["prepared"] ?? "")).attempts, 1);
  assert.equal(prepared, 2);
  for (const [business, made] of Object.entries({ torn: 1, prepared: 1, off: 1, "no paper": 0 })) assert.equal(await effects(business), made);
});

test("heartbeats keep what takes longer than its lease", async () => {
  const worker = new Worker(factum, ["crm"], {
    "letter.send": {
      send: async (task, begun) => {
        assert.ok(begun.leaseMs < 4_000 && begun.limitMs > 4_000);
        await new Promise((over) => setTimeout(over, 4_000));
        return printed(task);
      },
    },
  });
  const begun = await factum.perform("crm", "letter.send", { business: "slow" }, { key: "letter/slow", waitMs: 0 });
  assert.ok(await worker.once(5_000));
  assert.equal((await factum.wait(begun.id ?? "", { waitMs: 0 })).kind, "done");
  assert.doesNotMatch(JSON.stringify(await factum.get(`/v1/actions/${begun.id}/evidence`)), /lease_over/);
});

test("a lost answer to the begin is no permission", async () => {
  let lost = false;
  const behind = await ground.factum({
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      if (lost || !String(url).endsWith("/begin")) return answer;
      lost = true;
      await answer.text();
      throw new TypeError("the answer was lost");
    },
  });
  const attempts: number[] = [];
  const send = async (task: Task, { attempt: number }: { attempt: number }) => {
    attempts.push(number);
    return printed(task);
  };
  await factum.perform("crm", "letter.send", { business: "astray" }, { key: "letter/astray", waitMs: 0 });
  await new Worker(behind, ["crm"], { "letter.send": { send } }).run({ idleMs: 4_000 });
  assert.ok(lost);
  assert.deepEqual(attempts, [2]);
  assert.equal(await effects("astray"), 1);
});

test("an attempt makes its effect once, and joins afterwards", async () => {
  let called = 0;
  for (let round = 0; round < 2; round++) {
    const outcome = await attempt(factum, "crm", "letter.send", { business: "own" }, { key: "own/1" }, async () => {
      called += 1;
      return done(await make("neither/sync", { business: "own" }));
    });
    assert.equal(outcome.kind, "done");
  }
  assert.equal(called, 1);
  assert.equal(await effects("own"), 1);
});

test("an attempt that throws is unknown and is not made again; one that did not leave is", async () => {
  let mute = 0;
  let off = 0;
  for (let round = 0; round < 2; round++) {
    const outcome = await attempt(factum, "crm", "letter.send", { business: "mute" }, { key: "own/2", waitMs: 1_000 }, async () => {
      mute += 1;
      await make("neither/sync", { business: "mute" });
      throw new Error("no answer");
    });
    assert.equal(outcome.kind, "unknown");
  }
  const late = async () => {
    if (off++ === 0) throw new NotSent("the printer is switched off");
    return done(await make("neither/sync", { business: "late" }));
  };
  const first = await attempt(factum, "crm", "letter.send", { business: "late" }, { key: "own/3" }, late);
  const second = await attempt(factum, "crm", "letter.send", { business: "late" }, { key: "own/3", waitMs: 10_000 }, late);
  assert.deepEqual([first.kind, second.kind, mute, off], ["pending", "done", 1, 2]);
  assert.deepEqual([await effects("mute"), await effects("late")], [1, 1]);
});

test("an attempt of a killed program is not made a second time", async () => {
  const index = fileURLToPath(new URL("../src/index.js", import.meta.url));
  const program = `
    import { attempt, Factum } from ${JSON.stringify(index)};
    await attempt(new Factum(), "crm", "letter.send", { business: "killed" }, { key: "own/4" }, async () => {
      const headers = { "content-type": "application/json" };
      await fetch(process.argv[2] + "/neither/sync/effects", { method: "POST", headers, body: '{"business": "killed"}' });
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => {});
    });`;
  await writeFile(join(ground.folder, "killed.mjs"), program);
  const env = { ...process.env, FACTUM_URL: ground.url, FACTUM_TOKEN: ground.token() };
  const ended = spawnSync(process.execPath, [join(ground.folder, "killed.mjs"), ground.destination], { env, timeout: 60_000 });
  assert.equal(ended.signal, "SIGKILL");
  const outcome = await attempt(factum, "crm", "letter.send", { business: "killed" }, { key: "own/4" }, () => assert.fail("it may have happened"));
  assert.equal(outcome.kind, "unknown");
  assert.equal(await effects("killed"), 1);
});

test("what is approved is done once, and what is declined never", async () => {
  const asked = await factum.propose("bed", "key.sync", { business: "approved" }, { key: "approved/1", summary: "A refund" });
  const shown = await factum.proposal(asked.proposal.id);
  assert.match(shown.request?.body ?? "", /approved/);
  await assert.rejects(factum.approve(shown.id, "0".repeat(shown.digest.length)), Refused);
  const first = await factum.approve(shown.id, shown.digest, { reason: "the goods came back" });
  const second = await factum.approve(shown.id, shown.digest);
  assert.equal(first.action?.id, second.action?.id);
  assert.equal((await factum.wait(first.action?.id ?? "", { waitMs: 30_000 })).kind, "done");
  const other = await factum.propose("bed", "key.sync", { business: "declined later" }, { key: "declined/2" });
  assert.equal((await factum.decline(other.proposal.id, "not this month")).proposal.state, "declined");
  await assert.rejects(factum.approve(other.proposal.id, other.proposal.digest), Refused);
  assert.deepEqual((await factum.proposals({ state: "declined" })).map(({ id }) => id), [other.proposal.id]);
  assert.deepEqual([await effects("approved"), await effects("declined later")], [1, 0]);
});

test("events go on behind a cursor, and miss nothing", async () => {
  const { next } = await factum.eventsPage("now");
  const ids: (string | undefined)[] = [];
  for (let number = 0; number < 3; number++) {
    ids.push((await factum.perform("bed", "key.sync", { business: `event ${number}` }, { key: `event ${number}`, waitMs: 30_000 })).id);
  }
  const seen: (string | undefined)[] = [];
  const control = new AbortController();
  let cursor = next;
  for await (const event of factum.events(next, { types: ["action.succeeded"], signal: control.signal })) {
    seen.push(event.data.action?.id);
    cursor = event.cursor;
    break;
  }
  for await (const event of factum.events(cursor, { types: ["action.succeeded"], follow: false })) seen.push(event.data.action?.id);
  assert.deepEqual(seen, ids);
  setTimeout(() => control.abort(), 300);
  for await (const event of factum.events("now", { signal: control.signal })) assert.fail(event.type);
});
