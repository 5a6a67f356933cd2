// pg-boss: a job per effect, its retries by the library's defaults with backoff. The id of the effect is its singleton key.
//
// A job whose worker dies is retried when it expires; the default of 15 minutes is set to 15 seconds, so that a run ends.
import { PgBoss } from "pg-boss";
import { createHash } from "node:crypto";
import { door, perform } from "./effect.mjs";

const QUEUE = "effects";
const boss = new PgBoss({ connectionString: process.env.PG_URL, superviseIntervalSeconds: 5, maintenanceIntervalSeconds: 5 });
boss.on("error", (error) => console.error(error));
await boss.start();
await boss.createQueue(QUEUE, { retryLimit: 2, retryDelay: 1, retryBackoff: true, expireInSeconds: 15 });

// A job's id is a UUID: the same one for the same effect.
const uuid = (id) => createHash("sha256").update(id).digest("hex").replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, "$1-$2-5$3-a$4-$5");

await boss.work(QUEUE, { localConcurrency: 16, pollingIntervalSeconds: 0.5 }, async ([job]) => perform(job.data.id, job.data.kind));

const WORDS = { created: "pending", retry: "pending", active: "pending", blocked: "pending", completed: "done", failed: "not_done", cancelled: "not_done" };
door(
  (id, kind) => boss.send(QUEUE, { id, kind }, { id: uuid(id) }),
  async (id) => {
    const job = (await boss.findJobs(QUEUE, { id: uuid(id) }))[0];
    return job ? WORDS[job.state] : "unknown";
  },
);
