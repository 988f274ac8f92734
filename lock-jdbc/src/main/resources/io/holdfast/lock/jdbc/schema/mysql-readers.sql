-- Adds what read-write locks need to tables of MySQL that were made before Holdfast had them.
-- Only new columns: clients of earlier releases go on using the tables, and may hold locks meanwhile.
-- Gives up after two seconds if a transaction is in the way: then run it again. Where a column is
-- there already, its statement fails, and changes nothing.

SET @holdfast_wait = @@lock_wait_timeout, SESSION lock_wait_timeout = 2;
ALTER TABLE holdfast_lock ADD COLUMN readers MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
ALTER TABLE holdfast_lock_waiter ADD COLUMN mode VARCHAR(1) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'w';
SET SESSION lock_wait_timeout = @holdfast_wait;
