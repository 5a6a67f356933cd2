// An application that books orders, and wants a ticket for each: in one transaction, or not at all.

import { createRequire } from "node:module";

// Where the package was installed: the folder of this file, or MODULES.
const { Client } = createRequire(`${process.env.MODULES ?? import.meta.dirname}/`)("pg");

/** Books an order together with the intent to open its ticket. Returns the id of the outbox row. */
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
  const { rows } = await db.query("select factum.submit($1::jsonb) as row", [JSON.stringify(body)]);
  await db.query(takeBack ? "rollback" : "commit");
  return rows[0].row;
}

/** How the action stands, once nothing more happens by itself. */
async function settled(db, row) {
  for (;;) {
    const { rows } = await db.query("select * from factum.submitted($1)", [row]);
    const { state, action, action_state, next_step, problem } = rows[0];
    if (state === "refused") throw new Error(`refused: ${JSON.stringify(problem)}`);
    if (next_step === "none" || next_step === "review") return { action, state: action_state };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const db = new Client({ connectionString: process.env.DATABASE_URL });
await db.connect();
await db.query("create table if not exists orders (name text primary key)");
await book(db, 2, true);
const row = await book(db, 1);
await db.query("notify factum_outbox");
console.log(JSON.stringify(await settled(db, row)));
await db.end();
