// Starts the engine that was installed beside the client, and loses an answer.
import assert from "node:assert/strict";
import { Playground } from "factum-client/testing";

const ground = await Playground.start();
try {
  const factum = await ground.factum();
  await ground.loseNextAnswer();
  const outcome = await factum.perform("bed", "key.sync", { business: "order-77" }, { key: "order-77", waitMs: 60_000 });
  assert.equal(outcome.kind, "done");
  assert.equal((await ground.counts()).total_effects, 1);
  console.log(outcome.receipt);
} finally {
  await ground.stop();
}
