"""An application that books orders, and wants a ticket for each: in one transaction, or not at all."""

import json
import os
import time

import psycopg


def book(db, number, take_back=False):
    """Books an order together with the intent to open its ticket. Returns the id of the outbox row."""
    name = f"python-{number}"
    body = {
        "destination": "bed",
        "operation": "key.sync",
        "key": f"order-{name}/ticket",
        "payload": {"business": name},
    }
    with db.transaction() as transaction:
        db.execute("insert into orders (name) values (%s)", [name])
        row = db.execute("select factum.submit(%s::jsonb)", [json.dumps(body)]).fetchone()[0]
        if take_back:
            raise psycopg.Rollback(transaction)
        return row


def settled(db, row):
    """How the action stands, once nothing more happens by itself."""
    while True:
        state, action, action_state, next_step, problem = db.execute(
            "select state, action, action_state, next_step, problem from factum.submitted(%s)", [row]
        ).fetchone()
        if state == "refused":
            raise SystemExit(f"refused: {problem}")
        if next_step in ("none", "review"):
            return {"action": action, "state": action_state}
        time.sleep(0.1)


with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as db:
    db.execute("create table if not exists orders (name text primary key)")
    book(db, 2, take_back=True)
    row = book(db, 1)
    db.execute("notify factum_outbox")
    print(json.dumps(settled(db, row)))
