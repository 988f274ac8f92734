-- Adds what read-write locks need to tables of MariaDB that were made before Holdfast had them.
-- Only new columns: clients of earlier releases go on using the tables, and may hold locks meanwhile.
-- Gives up after two seconds if a transaction is in the way: then run it again. Safe to run again.

ALTER TABLE holdfast_lock WAIT 2 ADD COLUMN IF NOT EXISTS readers MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
ALTER TABLE holdfast_lock_waiter WAIT 2 ADD COLUMN IF NOT EXISTS mode VARCHAR(1) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'w';
