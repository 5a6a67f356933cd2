// What a step calls. It raises nothing for what is pending or unknown: a durable engine would run the step again for that.
import { Factum } from "factum-client";

const factum = new Factum(); // FACTUM_URL and FACTUM_TOKEN

/** Asks for a refund. `key` is made of the workflow's own name: whoever asks again asks for the same one. */
export async function refund(order, key) {
  return short(await factum.perform("shop", "neither.sync", { business: order }, { key }));
}

/** How it stands by now. */
export async function look(id) {
  return short(await factum.wait(id, { waitMs: 20_000 }));
}

/** The same refund, by a step that calls the shop's system itself. */
export async function refundByItself(order) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${process.env.SHOP}/neither/sync/effects`, { method: "POST", headers, body: JSON.stringify({ business: order }) });
  return (await answer.json()).id;
}

/** What a workflow keeps: the outcome as data, and the action's id to ask with. */
function short({ kind, id, receipt, asksAPerson, because }) {
  const rests = kind === "done" || kind === "not_done" || asksAPerson === true;
  return { kind, id, receipt, because, rests };
}

/** For this example: the process dies once, where DIE_AT says. */
export function dieAt(place) {
  if (process.env.DIE_AT === place) process.kill(process.pid, "SIGKILL");
}
