// A workflow of DBOS Transact. A step whose process dies before its result is stored is run again at the next start.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { dieAt, look, refund, refundByItself } from "./ask.mjs";

async function refunds(order) {
  await DBOS.runStep(
    async () => {
      const receipt = await refundByItself(`${order} by itself`);
      dieAt("by itself");
      return receipt;
    },
    { name: "by itself" },
  );
  let outcome = await DBOS.runStep(
    async () => {
      const asked = await refund(`${order} asked`, `${DBOS.workflowID}/refund`);
      dieAt("asked");
      return asked;
    },
    { name: "asked" },
  );
  while (!outcome.rests) {
    outcome = await DBOS.runStep(() => look(outcome.id), { name: "look" });
  }
  return outcome;
}

const workflow = DBOS.registerWorkflow(refunds, { name: "refunds" });
DBOS.setConfig({ name: "neighbours", applicationVersion: "1", systemDatabaseUrl: process.env.DATABASE_URL, logLevel: "error", runAdminServer: false });
await DBOS.launch(); // what was running when the process died goes on
const handle = await DBOS.startWorkflow(workflow, { workflowID: "order-77" })("dbos 77");
console.log(JSON.stringify(await handle.getResult()));
await DBOS.shutdown();
