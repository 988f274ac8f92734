-- Adds what read-write locks need to tables of H2 that were made before Holdfast had them.
-- Only new columns: clients of earlier releases go on using the tables, and may hold locks meanwhile.
-- Safe to run again.

ALTER TABLE holdfast_lock ADD COLUMN IF NOT EXISTS readers VARCHAR(300000);
ALTER TABLE holdfast_lock_waiter ADD COLUMN IF NOT EXISTS mode VARCHAR(1) DEFAULT 'w' NOT NULL;
