-- Holdfast's lock table, schema version 1, for H2 2.2.220 or later.
-- Times are microseconds since 1970 by the database's clock. Safe to run again.

CREATE TABLE IF NOT EXISTS holdfast_lock (
  -- The kind of lock ('m': mutex), a colon, and the name in UTF-8.
  name         VARBINARY(802) NOT NULL,
  -- The owner id of the grant that has the lock; empty: nobody, or only a minimum hold.
  owner        VARCHAR(32) NOT NULL,
  -- The number of the last grant; only rises.
  number       BIGINT NOT NULL,
  -- When the lock was last taken or freed; renewals and a minimum hold leave it as it is.
  changed_at   BIGINT NOT NULL,
  -- Until when the lock is taken; in the past: free.
  expires_at   BIGINT NOT NULL,
  -- Until when another client counts on being next.
  wanted_until BIGINT NOT NULL,
  -- Counts transactions that were guarded by a lease of this lock.
  guarded      BIGINT NOT NULL,
  -- Who took it last, for a human.
  holder       VARCHAR(200) NOT NULL,
  PRIMARY KEY (name)
);

MERGE INTO holdfast_lock
  (name, owner, number, changed_at, expires_at, wanted_until, guarded, holder)
KEY (name)
VALUES
  (X'76657273696f6e', '', 1, 0, 0, 0, 0, 'schema version, in the column number');
