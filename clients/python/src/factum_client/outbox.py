"""Submitting in an application's own transaction on PostgreSQL: the action is recorded with the application's data, or not at all."""

import json
from typing import Any


def submit(connection: Any, destination: str, operation: str, payload: Any, *, key: str, **members: Any) -> str:
    """Records an action in the connection's open transaction, and gives its id.

    `connection` is a psycopg connection or cursor, or a SQLAlchemy connection or session. Nothing is sent before the transaction commits.
    A key that was used for something else raises the database's error, and the transaction can only be rolled back.
    """
    body = {"destination": destination, "operation": operation, "payload": payload, "key": key}
    body |= {("for" if name == "acts_for" else name): value for name, value in members.items() if value is not None}
    text = json.dumps(body)
    if hasattr(connection, "exec_driver_sql"):
        row = connection.exec_driver_sql("select factum.submit(%(body)s::jsonb)", {"body": text}).fetchone()
    elif hasattr(connection, "get_bind"):
        row = connection.connection().exec_driver_sql("select factum.submit(%(body)s::jsonb)", {"body": text}).fetchone()
    else:
        row = connection.execute("select factum.submit(%s::jsonb)", [text]).fetchone()
    answer = row[0]
    return str((json.loads(answer) if isinstance(answer, str) else answer)["id"])
