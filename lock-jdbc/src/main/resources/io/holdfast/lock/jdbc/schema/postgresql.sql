-- Holdfast's lock tables, schema version 2, for PostgreSQL 12 or later.
-- Times are microseconds since 1970 by the database's clock. Safe to run again.

CREATE TABLE IF NOT EXISTS holdfast_lock (
  -- The kind of lock ('m': mutex; 'p': semaphore), a colon, and the name. Bytewise comparison: no two texts are equal.
  name         text COLLATE "C" NOT NULL,
  -- The owner id of the grant that has the lock; empty: nobody, or only a minimum hold; '*': several.
  owner        text COLLATE "C" NOT NULL,
  -- The number of the last grant; only rises.
  number       bigint NOT NULL,
  -- When the lock was last taken or freed; renewals and a minimum hold leave it as it is.
  changed_at   bigint NOT NULL,
  -- Until when the lock is taken; in the past: free.
  expires_at   bigint NOT NULL,
  -- Until when there may be waiters; in the past: there are none.
  wanted_until bigint NOT NULL,
  -- The place of the last waiter that got the lock; those behind it are in line.
  served       bigint NOT NULL,
  -- Counts transactions that were guarded by a lease of this lock.
  guarded      bigint NOT NULL,
  -- Who took it last, for a human.
  holder       text NOT NULL,
  -- Those who share it or have a permit, if owner is '*': of each the owner id, the end, the number, who it is.
  readers      text,
  PRIMARY KEY (name)
) WITH (fillfactor = 50); -- Room for updates that touch no index.

CREATE TABLE IF NOT EXISTS holdfast_lock_waiter (
  -- As in holdfast_lock.
  name         text COLLATE "C" NOT NULL,
  -- Who came later has a higher one.
  place        bigint GENERATED ALWAYS AS IDENTITY,
  -- The owner id of the grant that the waiter would have.
  owner        text COLLATE "C" NOT NULL,
  -- Until when the waiter counts as alive; it moves this on every second.
  alive_until  bigint NOT NULL,
  -- Who waits, for a human.
  holder       text NOT NULL,
  -- What the name of the channel ends with on which its client is notified; null: on none.
  inbox        text,
  -- 'w': wants the lock for itself; 'r': shares it with other readers; 'p': wants a permit.
  mode         text COLLATE "C" NOT NULL DEFAULT 'w',
  PRIMARY KEY (name, place)
) WITH (fillfactor = 50);

INSERT INTO holdfast_lock
  (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
VALUES
  ('version', '', 2, 0, 0, 0, 0, 0, 'the schema version, in the column number, and in owner the id of the tables')
ON CONFLICT (name) DO NOTHING;
