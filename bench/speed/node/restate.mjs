// Restate: a service with one handler, whose one `ctx.run` posts to the sink.
import * as restate from "@restatedev/restate-sdk";
import { perform } from "./effect.mjs";

const effects = restate.service({
  name: "effects",
  handlers: { perform: async (ctx, { key, payload }) => ctx.run("post", () => perform(key, payload)) },
});
restate.serve({ services: [effects], port: Number(process.env.PORT) });
