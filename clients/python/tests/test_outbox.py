"""The outbox with psycopg and SQLAlchemy, on a PostgreSQL that SERVER names: intent and data are recorded together, or neither is."""

import os
import uuid

import pytest
from conftest import effects

from factum_client import Done
from factum_client.outbox import submit
from factum_client.testing import Playground

psycopg = pytest.importorskip("psycopg")
sqlalchemy = pytest.importorskip("sqlalchemy")
orm = pytest.importorskip("sqlalchemy.orm")
SERVER = os.environ.get("SERVER")
pytestmark = pytest.mark.skipif(SERVER is None, reason="SERVER names no PostgreSQL server")


@pytest.fixture(scope="module")
def url():
    name = f"outbox_{uuid.uuid4().hex}"
    with psycopg.connect(f"{SERVER}/postgres", autocommit=True) as admin:
        admin.execute(f"create database {name}")
    with psycopg.connect(f"{SERVER}/{name}") as db:
        db.execute("create table orders (name text primary key)")
    return f"{SERVER}/{name}"


@pytest.fixture(scope="module")
def ground(url):
    with Playground(store=url, store_folder="shared") as playground:
        yield playground


def of_psycopg(url):
    return psycopg.connect(url)


def of_a_cursor(url):
    return psycopg.connect(url).cursor()


def of_sqlalchemy(url):
    return sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:")).connect()


def of_a_session(url):
    return orm.Session(sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:")))


def book(connection, name):
    """Books an order, in the transaction that is open there."""
    plain = "insert into orders (name) values ('" + name + "')"
    is_sqlalchemy = type(connection).__module__.startswith("sqlalchemy")
    connection.execute(sqlalchemy.text(plain) if is_sqlalchemy else plain)


def end(connection, how):
    """Commits, or takes back."""
    getattr(connection.connection if isinstance(connection, psycopg.Cursor) else connection, how)()


@pytest.mark.parametrize("connect", [of_psycopg, of_a_cursor, of_sqlalchemy, of_a_session])
def test_an_action_is_recorded_with_the_transaction_or_not_at_all(ground, url, connect):
    kind = connect.__name__
    with ground.factum() as factum, connect(url) as connection:
        book(connection, f"{kind} taken back")
        submit(connection, "bed", "key.sync", {"business": f"{kind} taken back"}, key=f"{kind}/back")
        end(connection, "rollback")
        book(connection, kind)
        action = submit(connection, "bed", "key.sync", {"business": kind}, key=f"{kind}/1", summary="A refund", acts_for="user:ana")
        # Until the commit nobody else can know of it.
        assert effects(ground, kind) == 0
        end(connection, "commit")
        outcome = None
        while not isinstance(outcome, Done):
            outcome = joined(factum, action, kind)
        # A repeat in a later transaction is the same action.
        assert submit(connection, "bed", "key.sync", {"business": kind}, key=f"{kind}/1", acts_for="user:ana") == action
        end(connection, "commit")
    assert outcome.status.summary == "A refund"
    assert effects(ground, kind) == 1 and effects(ground, f"{kind} taken back") == 0
    with psycopg.connect(url) as db:
        assert db.execute("select name from orders where name like %s", [f"{kind}%"]).fetchall() == [(kind,)]


def joined(factum, action, kind):
    """How it stands; by HTTP the same key joins, whether an engine has taken the row over yet or not."""
    outcome = factum.perform("bed", "key.sync", {"business": kind}, key=f"{kind}/1", acts_for="user:ana", wait=20)
    assert outcome.id == action
    return outcome


def test_a_key_that_names_something_else_raises_and_takes_the_transaction_with_it(ground, url):
    with psycopg.connect(url) as first:
        action = submit(first, "bed", "key.sync", {"business": "conflict"}, key="conflict/1")
    with psycopg.connect(url) as second:
        book(second, "conflict")
        with pytest.raises(psycopg.Error) as refused:
            submit(second, "bed", "key.sync", {"business": "another"}, key="conflict/1")
        assert refused.value.sqlstate == "F1007" and action in str(refused.value.diag.message_detail)
        second.rollback()
        assert second.execute("select count(*) from orders where name = 'conflict'").fetchone() == (0,)
