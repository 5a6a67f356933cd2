// DBOS Transact: a workflow with one step per effect, the workflow's id is the effect's. The step is retried by the defaults
// of its retries (three attempts, 1 s, doubling); a workflow that was running when its process died is recovered at start.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { door, perform } from "./effect.mjs";

async function effect(id, kind) {
  return DBOS.runStep(() => perform(id, kind), { name: "create", retriesAllowed: true });
}
const workflow = DBOS.registerWorkflow(effect, { name: "effect" });

DBOS.setConfig({
  name: "lost-answer",
  applicationVersion: "1",
  systemDatabaseUrl: process.env.PG_URL,
  logLevel: "error",
  runAdminServer: false,
});
await DBOS.launch();

const WORDS = { PENDING: "pending", ENQUEUED: "pending", DELAYED: "pending", SUCCESS: "done", ERROR: "not_done", CANCELLED: "not_done", MAX_RECOVERY_ATTEMPTS_EXCEEDED: "not_done" };
door(
  async (id, kind) => {
    const handle = await DBOS.startWorkflow(workflow, { workflowID: id })(id, kind);
    handle.getResult().catch(() => {}); // its end is read from its status
  },
  async (id) => {
    const found = await DBOS.getWorkflowStatus(id);
    return found ? WORDS[found.status] : "unknown";
  },
);
