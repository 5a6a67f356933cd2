// DBOS Transact: a workflow with one step that posts to the sink; the workflow's id is the idempotency key.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { door, perform } from "./effect.mjs";

async function effect(key, payload) {
  return DBOS.runStep(() => perform(key, payload), { name: "post" });
}
const workflow = DBOS.registerWorkflow(effect, { name: "effect" });

const pool = process.env.POOL ? { systemDatabasePoolSize: Number(process.env.POOL) } : {};
DBOS.setConfig({ name: "speed", applicationVersion: "1", systemDatabaseUrl: process.env.PG_URL, logLevel: "error", runAdminServer: false, ...pool });
await DBOS.launch();
door({
  "/sync": async (key, payload) => {
    const handle = await DBOS.startWorkflow(workflow, { workflowID: key })(key, payload);
    await handle.getResult();
    return 200;
  },
  "/send": async (key, payload) => {
    await DBOS.startWorkflow(workflow, { workflowID: key })(key, payload);
    return 202;
  },
});
