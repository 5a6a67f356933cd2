// pg-boss: a job per effect, fetched in batches of 50; by polling, its best setting for throughput here, or woken by NOTIFY. A batch is
// completed at once: if one post of it fails, the whole batch is failed and run again.
import { PgBoss } from "pg-boss";
import { door, perform } from "./effect.mjs";

const QUEUE = "effects";
const notify = process.env.NOTIFY === "1";
const boss = new PgBoss({ connectionString: process.env.PG_URL, max: 24, useListenNotify: notify });
boss.on("error", (error) => console.error(error));
await boss.start();
await boss.createQueue(QUEUE, { notify });
const settings = { batchSize: 50, localConcurrency: 4, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
await boss.work(QUEUE, settings, (jobs) => Promise.all(jobs.map((job) => perform(job.data.key, job.data.payload))));
door({
  "/send": async (key, payload) => {
    await boss.send(QUEUE, { key, payload });
    return 202;
  },
});
