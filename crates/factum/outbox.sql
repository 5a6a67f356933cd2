-- The outbox in an application's own SQLite file. An application records an intent in the same transaction as its own data:
--
--   insert into factum_outbox (body) values ('{"destination":"…","operation":"…","key":"…","payload":{…}}');
--
-- The body is the body of POST /v1/actions. An engine picks it up by its identity, so a repeat only joins. Afterwards `state` is
-- `taken` with the action's id, or `refused` with the problem; a refused row was never sent.

create table if not exists factum_outbox (
    id          integer primary key autoincrement,
    body        text not null,
    state       text not null default 'waiting' constraint outbox_state check (state in ('waiting', 'taken', 'refused')),
    action      text,
    problem     text,
    constraint outbox_taken   check ((state = 'taken') = (action is not null)),
    constraint outbox_refused check ((state = 'refused') = (problem is not null))
);

create index if not exists factum_outbox_waiting on factum_outbox (id) where state = 'waiting';

-- The file's own name. It is bound once to a store, so that a copy of the file does not send everything again unseen.
create table if not exists factum_outbox_file (
    one  integer primary key check (one = 1),
    uuid text not null
);

insert or ignore into factum_outbox_file (one, uuid) values (1, lower(hex(randomblob(16))));
