/** The client against a real engine and a destination that loses answers. Effects are counted at the destination. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { Factum, keyOf, Refused, tool } from "../src/index.js";
import { Playground } from "../src/testing.js";

let ground: Playground;
let factum: Factum;

before(async () => {
  ground = await Playground.start();
  factum = await ground.factum();
});
after(() => ground.stop());
beforeEach(() => ground.faults(""));

async function effects(business: string): Promise<number> {
  return (await ground.counts()).by_business[business] ?? 0;
}

test("a lost answer makes no second effect", async () => {
  await ground.loseNextAnswer();
  await factum.perform("bed", "key.sync", { business: "lost" }, { key: "lost/1", waitMs: 500 });
  const again = await factum.perform("bed", "key.sync", { business: "lost" }, { key: "lost/1", waitMs: 30_000 });
  assert.equal(again.kind, "done");
  assert.match(again.forModel.text, /nothing was sent again/);
  assert.equal(await effects("lost"), 1);
});

test("an open outcome is returned, and its words make no claim", async () => {
  await ground.faults("close_fin,p=1,class=effect");
  const outcome = await factum.perform("bed", "neither.sync", { business: "open" }, { key: "open/1", waitMs: 30_000 });
  assert.ok(outcome.kind === "unknown" && outcome.asksAPerson);
  assert.equal(outcome.forModel.isError, false);
  assert.match(outcome.forModel.text, /Do not call this tool again/);
  assert.ok(outcome.forModel.text.includes(outcome.id ?? "none") && outcome.neverSay.length > 0);
});

test("declined is not done, and an error for the model", async () => {
  await ground.faults("reject_4xx=422,p=1,class=effect");
  const outcome = await factum.perform("bed", "key.sync", { business: "declined" }, { key: "declined/1", waitMs: 30_000 });
  assert.ok(outcome.kind === "not_done" && outcome.forModel.isError);
  assert.equal(await effects("declined"), 0);
});

test("what is wrong with a request is thrown with member, rule and remedy", async () => {
  await assert.rejects(factum.perform("nowhere", "key.sync", {}, { key: "wrong/1" }), (error) => {
    assert.ok(error instanceof Refused);
    assert.equal(error.problem.member, "/destination");
    return error.problem.remedy !== "";
  });
  await factum.perform("bed", "key.sync", { business: "one" }, { key: "conflict/1" });
  await assert.rejects(
    factum.perform("bed", "key.sync", { business: "two" }, { key: "conflict/1" }),
    (error) => error instanceof Refused && error.problem.code === "F1007",
  );
  await assert.rejects(factum.perform("bed", "key.sync", {}, {}), /name the intent/);
});

test("an engine that is not there recorded nothing", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  const nobody = new Factum({ url: `http://127.0.0.1:${port}`, token: "x", patienceMs: 300 });
  const outcome = await nobody.perform("bed", "key.sync", {}, { key: "nobody/1", waitMs: 0 });
  assert.ok(outcome.kind === "not_done" && outcome.tryAgain && outcome.forModel.isError);
});

test("a lost answer of the engine itself is repeated with the same key, and joins", async () => {
  let lost = 2;
  const behind = await ground.factum({
    fetch: async (...call) => {
      const answer = await fetch(...call);
      if (lost-- > 0) {
        await answer.text();
        throw new TypeError("the answer was lost");
      }
      return answer;
    },
  });
  const outcome = await behind.perform("bed", "key.sync", { business: "behind" }, { key: "behind/1", waitMs: 30_000 });
  assert.ok(outcome.kind === "done" && outcome.status?.joined);
  assert.equal(await effects("behind"), 1);
});

test("an aborted wait ends the waiting, and never the action", async () => {
  await ground.faults("late_answer=1000,n=1,class=effect");
  const control = new AbortController();
  const waiting = factum.perform("bed", "key.sync", { business: "aborted" }, { key: "aborted/1", waitMs: 30_000, signal: control.signal });
  while ((await effects("aborted")) === 0) await new Promise((done) => setTimeout(done, 20));
  control.abort();
  assert.equal((await waiting).kind, "unknown");
  const again = await factum.perform("bed", "key.sync", { business: "aborted" }, { key: "aborted/1", waitMs: 30_000 });
  assert.equal(again.kind, "done");
  assert.equal(await effects("aborted"), 1);
});

test("waiting ends with the outcome", async () => {
  const begun = await factum.perform("bed", "key.queued", { business: "queued" }, { key: "queued/1", waitMs: 0 });
  const ended = await factum.wait(begun.id ?? "", { waitMs: 60_000 });
  assert.equal(ended.kind, "done");
  assert.deepEqual((await factum.actions({ key: "queued/1" })).map((action) => action.id), [begun.id]);
});

test("a killed engine comes back, and the same call joins", async () => {
  const own = await Playground.start();
  try {
    await own.faults("late_answer=3000,n=1,class=effect");
    const patient = await own.factum({ patienceMs: 60_000 });
    const calling = patient.perform("bed", "key.sync", { business: "killed" }, { key: "killed/1", waitMs: 20_000 });
    while (((await own.counts()).by_business["killed"] ?? 0) === 0) await new Promise((done) => setTimeout(done, 20));
    await own.killEngine();
    await own.startEngine();
    assert.equal((await calling).kind, "done");
    assert.equal((await own.counts()).by_business["killed"], 1);
  } finally {
    await own.stop();
  }
});

test("a tool names its intents by what causes them", async () => {
  const createTicket = tool<{ order: string }>(factum, {
    destination: "bed",
    operation: "key.sync",
    key: ({ order }, scope) => keyOf("ticket", scope ?? "", order),
    payload: ({ order }) => ({ business: `tool ${order}` }),
    waitMs: 30_000,
  });
  const first = await createTicket({ order: "77" }, { scope: "conv-1" });
  const again = await createTicket({ order: "77" }, { scope: "conv-1" });
  const other = await createTicket({ order: "77" }, { scope: "conv-2" });
  assert.equal(first.id, again.id);
  assert.notEqual(first.id, other.id);
  assert.equal(await effects("tool 77"), 2);
});

test("no two lists of parts give one key", () => {
  assert.notEqual(keyOf("a/b", "c"), keyOf("a", "b/c"));
  assert.notEqual(keyOf("a%2Fb"), keyOf("a/b"));
  assert.throws(() => keyOf("a", ""), /empty/);
});
