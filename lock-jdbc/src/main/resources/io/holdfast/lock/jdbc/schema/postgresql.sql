-- Holdfast's lock table, schema version 1, for PostgreSQL 12 or later.
-- Times are microseconds since 1970 by the database's clock. Safe to run again.

CREATE TABLE IF NOT EXISTS holdfast_lock (
  -- The kind of lock ('m': mutex), a colon, and the name. Bytewise comparison: no two texts are equal.
  name         text COLLATE "C" NOT NULL,
  -- The owner id of the grant that has the lock; empty: nobody, or only a minimum hold.
  owner        text COLLATE "C" NOT NULL,
  -- The number of the last grant; only rises.
  number       bigint NOT NULL,
  -- When the lock was last taken or freed; renewals and a minimum hold leave it as it is.
  changed_at   bigint NOT NULL,
  -- Until when the lock is taken; in the past: free.
  expires_at   bigint NOT NULL,
  -- Until when another client counts on being next.
  wanted_until bigint NOT NULL,
  -- Counts transactions that were guarded by a lease of this lock.
  guarded      bigint NOT NULL,
  -- Who took it last, for a human.
  holder       text NOT NULL,
  PRIMARY KEY (name)
) WITH (fillfactor = 50); -- Room for updates that touch no index.

INSERT INTO holdfast_lock
  (name, owner, number, changed_at, expires_at, wanted_until, guarded, holder)
VALUES
  ('version', '', 1, 0, 0, 0, 0, 'schema version, in the column number')
ON CONFLICT (name) DO NOTHING;
