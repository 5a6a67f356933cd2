// An application that books orders, and wants a ticket for each: in one transaction, or not at all.

import { createRequire } from "node:module";

// Where the package was installed: the folder of this file, or MODULES.
const { Client } = createRequire(`${process.env.MODULES ?? import.meta.dirname}/`)("pg");

/** Books an order together with the intent to open its ticket. Returns the action's id. */
async function book(db, number, takeBack = false) {
  const name = `node-${number}`;
  const body = {
    destination: "bed",
    operation: "key.sync",
    key: `order-${name}/ticket`,
    payload: { business: name },
  };
  await db.query("begin");
  await db.query("insert into orders (name) values ($1)", [name]);
  const { rows } = await db.query("select factum.submit($1::jsonb) as submitted", [JSON.stringify(body)]);
  await db.query(takeBack ? "rollback" : "commit");
  return rows[0].submitted.id;
}

/** How the action stands, once nothing more happens by itself. */
async function settled(db, id) {
  for (;;) {
    const { rows } = await db.query("select factum.submitted($1) as told", [id]);
    const { state, next, problem } = rows[0].told;
    if (problem) throw new Error(`refused: ${JSON.stringify(problem)}`);
    if (next === "none" || next === "review") return { action: id, state };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const db = new Client({ connectionString: process.env.DATABASE_URL });
await db.connect();
await db.query("create table if not exists orders (name text primary key)");
await book(db, 2, true);
const id = await book(db, 1);
await db.query("notify factum_outbox");
console.log(JSON.stringify(await settled(db, id)));
await db.end();
