-- Adds what read-write locks need to tables of PostgreSQL that were made before Holdfast had them.
-- Only new columns: clients of earlier releases go on using the tables, and may hold locks meanwhile.
-- By hand, send SET lock_timeout = '2s' first: while a transaction is in the way, all who use the table wait
-- behind this. Safe to run again.

ALTER TABLE holdfast_lock ADD COLUMN IF NOT EXISTS readers text;
ALTER TABLE holdfast_lock_waiter ADD COLUMN IF NOT EXISTS mode text COLLATE "C" NOT NULL DEFAULT 'w';
