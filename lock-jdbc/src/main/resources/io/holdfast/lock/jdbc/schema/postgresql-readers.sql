-- Adds what read-write locks need to tables of PostgreSQL that were made before Holdfast had them.
-- Only new columns: clients of earlier releases go on using the tables, and may hold locks meanwhile.
-- Gives up after two seconds if a transaction is in the way: then run it again. Safe to run again.

SELECT set_config('holdfast.lock_timeout', current_setting('lock_timeout'), false);
SET lock_timeout = '2s';
ALTER TABLE holdfast_lock ADD COLUMN IF NOT EXISTS readers text;
ALTER TABLE holdfast_lock_waiter ADD COLUMN IF NOT EXISTS mode text COLLATE "C" NOT NULL DEFAULT 'w';
SELECT set_config('lock_timeout', current_setting('holdfast.lock_timeout'), false);
