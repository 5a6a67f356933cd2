// Restate: a keyed workflow with one `ctx.run` per effect, its id the effect's. Retries are the server's, without an end by
// default; an invocation that pauses waits for an operator.
import * as restate from "@restatedev/restate-sdk";
import { door, perform } from "./effect.mjs";

const effects = restate.workflow({
  name: "effects",
  handlers: {
    run: async (ctx, { id, kind }) => ctx.run("create", () => perform(id, kind)),
  },
});
restate.serve({ services: [effects], port: Number(process.env.SERVICE_PORT) });

const ingress = process.env.RESTATE_INGRESS;
const admin = process.env.RESTATE_ADMIN;

async function invocation(id) {
  const answer = await fetch(`${admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: `select status, completion_result from sys_invocation where target_service_name = 'effects' and target_service_key = '${id}'` }),
  });
  return (await answer.json()).rows[0];
}

door(
  async (id, kind) => {
    const answer = await fetch(`${ingress}/effects/${encodeURIComponent(id)}/run/send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id, kind }),
    });
    if (!answer.ok && answer.status !== 409) throw new Error(`restate answered ${answer.status}: ${await answer.text()}`);
  },
  async (id) => {
    const found = await invocation(id);
    if (!found) return "unknown";
    if (found.status === "completed") return found.completion_result === "success" ? "done" : "not_done";
    return found.status === "paused" ? "asked" : "pending";
  },
);
