// A workflow of Restate. A `ctx.run` whose process dies before its result is in the journal is run again.
import * as restate from "@restatedev/restate-sdk";
import { dieAt, look, refund, refundByItself } from "./ask.mjs";

const refunds = restate.workflow({
  name: "refunds",
  handlers: {
    run: async (ctx, order) => {
      await ctx.run("by itself", async () => {
        const receipt = await refundByItself(`${order} by itself`);
        dieAt("by itself");
        return receipt;
      });
      let outcome = await ctx.run("asked", async () => {
        const asked = await refund(`${order} asked`, `${ctx.key}/refund`);
        dieAt("asked");
        return asked;
      });
      while (!outcome.rests) {
        outcome = await ctx.run("look", () => look(outcome.id));
      }
      return outcome;
    },
  },
});
restate.serve({ services: [refunds], port: Number(process.env.SERVICE_PORT) });
