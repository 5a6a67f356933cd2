"""An application that books orders, and wants a ticket for each: in one transaction, or not at all."""

import json
import os
import time

import psycopg


def book(db, number, take_back=False):
    """Books an order together with the intent to open its ticket. Returns the action's id."""
    name = f"python-{number}"
    body = {
        "destination": "bed",
        "operation": "key.sync",
        "key": f"order-{name}/ticket",
        "payload": {"business": name},
    }
    with db.transaction() as transaction:
        db.execute("insert into orders (name) values (%s)", [name])
        submitted = db.execute("select factum.submit(%s::jsonb)", [json.dumps(body)]).fetchone()[0]
        if take_back:
            raise psycopg.Rollback(transaction)
        return submitted["id"]


def settled(db, action):
    """How the action stands, once nothing more happens by itself."""
    while True:
        told = db.execute("select factum.submitted(%s)", [action]).fetchone()[0]
        if told["problem"]:
            raise SystemExit(f"refused: {told['problem']}")
        if told["next"] in ("none", "review"):
            return {"action": action, "state": told["state"]}
        time.sleep(0.1)


with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as db:
    db.execute("create table if not exists orders (name text primary key)")
    book(db, 2, take_back=True)
    action = book(db, 1)
    db.execute("notify factum_outbox")
    print(json.dumps(settled(db, action)))
