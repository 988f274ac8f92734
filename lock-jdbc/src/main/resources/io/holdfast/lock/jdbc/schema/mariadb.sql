-- Holdfast's lock tables, schema version 2, for MariaDB 10.6 or later.
-- Times are microseconds since 1970 by the database's clock. Safe to run again.

CREATE TABLE IF NOT EXISTS holdfast_lock (
  -- The kind of lock ('m': mutex; 'p': semaphore), a colon, and the name in UTF-8.
  name         VARBINARY(802) NOT NULL,
  -- The owner id of the grant that has the lock; empty: nobody, or only a minimum hold; '*': several.
  owner        VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The number of the last grant; only rises.
  number       BIGINT NOT NULL,
  -- When the lock was last taken or freed; renewals and a minimum hold leave it as it is.
  changed_at   BIGINT NOT NULL,
  -- Until when the lock is taken; in the past: free.
  expires_at   BIGINT NOT NULL,
  -- Until when there may be waiters; in the past: there are none.
  wanted_until BIGINT NOT NULL,
  -- The place of the last waiter that got the lock; those behind it are in line.
  served       BIGINT NOT NULL,
  -- Counts transactions that were guarded by a lease of this lock.
  guarded      BIGINT NOT NULL,
  -- Who took it last, for a human.
  holder       VARCHAR(200) CHARACTER SET utf8mb4 NOT NULL,
  -- Those who share it or have a permit, if owner is '*': of each the owner id, the end, the number, who it is.
  readers      MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  PRIMARY KEY (name)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS holdfast_lock_waiter (
  -- As in holdfast_lock.
  name         VARBINARY(802) NOT NULL,
  -- Who came later has a higher one.
  place        BIGINT AUTO_INCREMENT,
  -- The owner id of the grant that the waiter would have.
  owner        VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- Until when the waiter counts as alive; it moves this on every second.
  alive_until  BIGINT NOT NULL,
  -- Who waits, for a human.
  holder       VARCHAR(200) CHARACTER SET utf8mb4 NOT NULL,
  -- 'w': wants the lock for itself; 'r': shares it with other readers; 'p': wants a permit.
  mode         VARCHAR(1) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'w',
  PRIMARY KEY (name, place),
  KEY (place)
) ENGINE = InnoDB;

INSERT INTO holdfast_lock
  (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
VALUES
  ('version', '', 2, 0, 0, 0, 0, 0, 'the schema version, in the column number, and in owner the id of the tables')
ON DUPLICATE KEY UPDATE name = name;
