-- tryLock() of a new name

WITH taken AS (UPDATE public.holdfast_lock SET number = (GREATEST(number + 1, now)), owner = ?, changed_at = now, expires_at = now + ?, holder = ? FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000 FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number
)
SELECT COALESCE((SELECT number FROM taken), (
  SELECT CASE WHEN expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint THEN 1 ELSE 2 END FROM public.holdfast_lock WHERE name = ?
), 0);

INSERT INTO public.holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
SELECT ?, ?, now, now, now + ?, 0, 0, 0, ?
FROM (SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now) clock
ON CONFLICT (name) DO NOTHING
RETURNING number;

-- tryLock() of a lock that is taken

WITH taken AS (UPDATE public.holdfast_lock SET number = (GREATEST(number + 1, now)), owner = ?, changed_at = now, expires_at = now + ?, holder = ? FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000 FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number
)
SELECT COALESCE((SELECT number FROM taken), (
  SELECT CASE WHEN expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint THEN 1 ELSE 2 END FROM public.holdfast_lock WHERE name = ?
), 0);

-- close() within ten milliseconds

UPDATE public.holdfast_lock
SET owner = '', changed_at = CASE WHEN ? = 0 THEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint ELSE changed_at END,
  expires_at = CASE WHEN ? = 0 THEN 0 ELSE (date_part('epoch', clock_timestamp()) * 1000000)::bigint + ? END
WHERE name = ? AND owner = ? AND number = ? AND wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000
RETURNING 1,
  CASE WHEN expires_at = 0 THEN set_config('synchronous_commit', 'off', true) END;

-- tryLock() of a lock that is free

WITH taken AS (UPDATE public.holdfast_lock SET number = (GREATEST(number + 1, now)), owner = ?, changed_at = now, expires_at = now + ?, holder = ? FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000 FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number
)
SELECT COALESCE((SELECT number FROM taken), (
  SELECT CASE WHEN expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint THEN 1 ELSE 2 END FROM public.holdfast_lock WHERE name = ?
), 0);

-- Renewal of a lease

WITH mine AS (SELECT name AS mine_name FROM public.holdfast_lock WHERE name IN (?) AND owner IN (?) AND number IN (?) AND expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 0 FOR UPDATE SKIP LOCKED) UPDATE public.holdfast_lock SET expires_at = (date_part('epoch', clock_timestamp()) * 1000000)::bigint + ? FROM mine WHERE name = mine_name;

-- Renewal of two to eight leases

WITH mine AS (SELECT name AS mine_name FROM public.holdfast_lock WHERE name IN (?,?,?,?,?,?,?,?) AND owner IN (?,?,?,?,?,?,?,?) AND number IN (?,?,?,?,?,?,?,?) AND expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 0 FOR UPDATE SKIP LOCKED) UPDATE public.holdfast_lock SET expires_at = (date_part('epoch', clock_timestamp()) * 1000000)::bigint + ? FROM mine WHERE name = mine_name;

-- extend()

UPDATE public.holdfast_lock SET expires_at = now + (GREATEST(expires_at - now, ?)) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND owner = ? AND number = ? AND expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 0 FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING expires_at - now;

-- verify()

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM public.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

-- inspect()

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM public.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

-- list()

SELECT name FROM public.holdfast_lock l WHERE name COLLATE "C" >= ? AND name COLLATE "C" < ?
ORDER BY name COLLATE "C" LIMIT 1 OFFSET 10000;

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), '', (SELECT COUNT(*) FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000), 0 FROM public.holdfast_lock l
WHERE name COLLATE "C" >= ? AND name COLLATE "C" < ? AND l.expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint
ORDER BY name COLLATE "C" LIMIT ?;

-- The guard of a transaction

UPDATE public.holdfast_lock SET guarded = guarded + 1
WHERE name = ? AND owner = ? AND number = ?;

-- forceRelease()

WITH mine AS (
  SELECT name AS mine_name, served AS mine_served, ?::bigint AS hold,
    (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now
  FROM public.holdfast_lock
  WHERE name = ? AND number = ? AND expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND owner <> '*' FOR UPDATE SKIP LOCKED
), ended AS (
  UPDATE public.holdfast_lock l
  SET owner = CASE WHEN next_mode = 'r' THEN '*' ELSE COALESCE(next_owner, '') END,
    readers = CASE WHEN next_mode = 'r'
      THEN CONCAT(next_owner, now + 8000000, GREATEST(number + 1, now), next_holder, ';')
      ELSE readers END,
    holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
    number = CASE WHEN next_place IS NULL THEN number ELSE GREATEST(number + 1, now) END,
    changed_at = CASE WHEN hold = 0 THEN now ELSE changed_at END,
    expires_at = CASE WHEN next_place IS NOT NULL THEN now + 8000000
      WHEN hold = 0 THEN 0 ELSE now + hold END,
    wanted_until =
      CASE WHEN hold = 0 AND next_place IS NULL THEN 0 ELSE wanted_until END
  FROM mine LEFT JOIN LATERAL (
    SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
      a.inbox AS next_inbox, a.mode AS next_mode
    FROM public.holdfast_lock_waiter a
    WHERE a.name = mine_name AND a.place > mine_served AND hold = 0
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
    ORDER BY a.place LIMIT 1 FOR UPDATE NOWAIT
  ) next ON true
  WHERE l.name = mine_name
  RETURNING next_owner, next_inbox, next_mode, next_place, number, expires_at
)
SELECT 1,
  CASE WHEN ? = 1 AND next_inbox IS NOT NULL
    THEN pg_notify('holdfast_' || next_inbox, CONCAT(next_owner, ' ', number, ' ', expires_at,
      CASE WHEN next_mode = 'r' THEN ' r' END))::text END,
  CASE WHEN ? = 1 AND next_mode = 'r' THEN (
    SELECT COUNT(pg_notify('holdfast_' || a.inbox, a.owner)::text) FROM public.holdfast_lock_waiter a
    WHERE a.name = ? AND a.place > next_place AND a.mode = 'r' AND a.inbox IS NOT NULL
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND NOT EXISTS (
        SELECT 1 FROM public.holdfast_lock_waiter b WHERE b.name = ? AND b.mode = 'w'
          AND b.place BETWEEN next_place AND a.place
          AND b.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000)) END,
  CASE WHEN FALSE AND expires_at = 0
    THEN set_config('synchronous_commit', 'off', true) END
FROM ended;

-- Release after an acquire without an answer

DELETE FROM public.holdfast_lock_waiter
WHERE name IN (?) AND (owner IN (?) OR alive_until < (date_part('epoch', clock_timestamp()) * 1000000)::bigint - 600000000);

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM public.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

WITH mine AS (
  SELECT name AS mine_name, served AS mine_served, ?::bigint AS hold,
    (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now
  FROM public.holdfast_lock
  WHERE name = ? AND owner = ? FOR UPDATE SKIP LOCKED
), ended AS (
  UPDATE public.holdfast_lock l
  SET owner = CASE WHEN next_mode = 'r' THEN '*' ELSE COALESCE(next_owner, '') END,
    readers = CASE WHEN next_mode = 'r'
      THEN CONCAT(next_owner, now + 8000000, GREATEST(number + 1, now), next_holder, ';')
      ELSE readers END,
    holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
    number = CASE WHEN next_place IS NULL THEN number ELSE GREATEST(number + 1, now) END,
    changed_at = CASE WHEN hold = 0 THEN now ELSE changed_at END,
    expires_at = CASE WHEN next_place IS NOT NULL THEN now + 8000000
      WHEN hold = 0 THEN 0 ELSE now + hold END,
    wanted_until =
      CASE WHEN hold = 0 AND next_place IS NULL THEN 0 ELSE wanted_until END
  FROM mine LEFT JOIN LATERAL (
    SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
      a.inbox AS next_inbox, a.mode AS next_mode
    FROM public.holdfast_lock_waiter a
    WHERE a.name = mine_name AND a.place > mine_served AND hold = 0
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
    ORDER BY a.place LIMIT 1 FOR UPDATE NOWAIT
  ) next ON true
  WHERE l.name = mine_name
  RETURNING next_owner, next_inbox, next_mode, next_place, number, expires_at
)
SELECT 1,
  CASE WHEN ? = 1 AND next_inbox IS NOT NULL
    THEN pg_notify('holdfast_' || next_inbox, CONCAT(next_owner, ' ', number, ' ', expires_at,
      CASE WHEN next_mode = 'r' THEN ' r' END))::text END,
  CASE WHEN ? = 1 AND next_mode = 'r' THEN (
    SELECT COUNT(pg_notify('holdfast_' || a.inbox, a.owner)::text) FROM public.holdfast_lock_waiter a
    WHERE a.name = ? AND a.place > next_place AND a.mode = 'r' AND a.inbox IS NOT NULL
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND NOT EXISTS (
        SELECT 1 FROM public.holdfast_lock_waiter b WHERE b.name = ? AND b.mode = 'w'
          AND b.place BETWEEN next_place AND a.place
          AND b.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000)) END,
  CASE WHEN FALSE AND expires_at = 0
    THEN set_config('synchronous_commit', 'off', true) END
FROM ended;

-- lock() of a lock that is taken: joins the line

WITH taken AS (UPDATE public.holdfast_lock SET number = (GREATEST(number + 1, now)), owner = ?, changed_at = now, expires_at = now + ?, holder = ? FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000 FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number
)
SELECT COALESCE((SELECT number FROM taken), (
  SELECT CASE WHEN expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint THEN 1 ELSE 2 END FROM public.holdfast_lock WHERE name = ?
), 0);

WITH mine AS (
  SELECT name AS mine_name FROM public.holdfast_lock
  WHERE name = ? AND expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 2000000 AND 8000000 FOR UPDATE SKIP LOCKED
), announced AS (
  UPDATE public.holdfast_lock SET wanted_until = (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 4000000 FROM mine WHERE name = mine_name
)
INSERT INTO public.holdfast_lock_waiter (name, owner, alive_until, holder, mode, inbox)
VALUES (?, ?, (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 4000000, ?, ?, NULLIF(?, ''))
RETURNING place;

-- A waiter's poll

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM public.holdfast_lock l LEFT JOIN public.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

-- A waiter's sign of life

UPDATE public.holdfast_lock_waiter SET alive_until = (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 4000000
WHERE name IN (?) AND owner IN (?);

-- A waiter's announcement that somebody waits

WITH mine AS (SELECT name AS mine_name FROM public.holdfast_lock WHERE name IN (?) AND expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint FOR UPDATE SKIP LOCKED) UPDATE public.holdfast_lock SET wanted_until = (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 4000000 FROM mine WHERE name = mine_name;

-- close() later than that, or while another waits

WITH mine AS (
  SELECT name AS mine_name, served AS mine_served, ?::bigint AS hold,
    (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now
  FROM public.holdfast_lock
  WHERE name = ? AND owner = ? AND number = ? FOR UPDATE SKIP LOCKED
), ended AS (
  UPDATE public.holdfast_lock l
  SET owner = CASE WHEN next_mode = 'r' THEN '*' ELSE COALESCE(next_owner, '') END,
    readers = CASE WHEN next_mode = 'r'
      THEN CONCAT(next_owner, now + 8000000, GREATEST(number + 1, now), next_holder, ';')
      ELSE readers END,
    holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
    number = CASE WHEN next_place IS NULL THEN number ELSE GREATEST(number + 1, now) END,
    changed_at = CASE WHEN hold = 0 THEN now ELSE changed_at END,
    expires_at = CASE WHEN next_place IS NOT NULL THEN now + 8000000
      WHEN hold = 0 THEN 0 ELSE now + hold END,
    wanted_until =
      CASE WHEN hold = 0 AND next_place IS NULL THEN 0 ELSE wanted_until END
  FROM mine LEFT JOIN LATERAL (
    SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
      a.inbox AS next_inbox, a.mode AS next_mode
    FROM public.holdfast_lock_waiter a
    WHERE a.name = mine_name AND a.place > mine_served AND hold = 0
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
    ORDER BY a.place LIMIT 1 FOR UPDATE NOWAIT
  ) next ON true
  WHERE l.name = mine_name
  RETURNING next_owner, next_inbox, next_mode, next_place, number, expires_at
)
SELECT 1,
  CASE WHEN ? = 1 AND next_inbox IS NOT NULL
    THEN pg_notify('holdfast_' || next_inbox, CONCAT(next_owner, ' ', number, ' ', expires_at,
      CASE WHEN next_mode = 'r' THEN ' r' END))::text END,
  CASE WHEN ? = 1 AND next_mode = 'r' THEN (
    SELECT COUNT(pg_notify('holdfast_' || a.inbox, a.owner)::text) FROM public.holdfast_lock_waiter a
    WHERE a.name = ? AND a.place > next_place AND a.mode = 'r' AND a.inbox IS NOT NULL
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND NOT EXISTS (
        SELECT 1 FROM public.holdfast_lock_waiter b WHERE b.name = ? AND b.mode = 'w'
          AND b.place BETWEEN next_place AND a.place
          AND b.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000)) END,
  CASE WHEN TRUE AND expires_at = 0
    THEN set_config('synchronous_commit', 'off', true) END
FROM ended;

-- The same if the first waiter's row is locked

WITH mine AS (
  SELECT name AS mine_name, served AS mine_served, ?::bigint AS hold,
    (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now
  FROM public.holdfast_lock
  WHERE name = ? AND owner = ? AND number = ? FOR UPDATE SKIP LOCKED
), ended AS (
  UPDATE public.holdfast_lock l
  SET owner = CASE WHEN next_mode = 'r' THEN '*' ELSE COALESCE(next_owner, '') END,
    readers = CASE WHEN next_mode = 'r'
      THEN CONCAT(next_owner, now + 8000000, GREATEST(number + 1, now), next_holder, ';')
      ELSE readers END,
    holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
    number = CASE WHEN next_place IS NULL THEN number ELSE GREATEST(number + 1, now) END,
    changed_at = CASE WHEN hold = 0 THEN now ELSE changed_at END,
    expires_at = CASE WHEN next_place IS NOT NULL THEN now + 8000000
      WHEN hold = 0 THEN 0 ELSE now + hold END,
    wanted_until =
      CASE WHEN hold = 0 AND next_place IS NULL THEN 0 ELSE wanted_until END
  FROM mine LEFT JOIN LATERAL (
    SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
      a.inbox AS next_inbox, a.mode AS next_mode
    FROM public.holdfast_lock_waiter a
    WHERE a.name = mine_name AND a.place > mine_served AND hold = 0
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
    ORDER BY a.place LIMIT 1 FOR UPDATE SKIP LOCKED
  ) next ON true
  WHERE l.name = mine_name
  RETURNING next_owner, next_inbox, next_mode, next_place, number, expires_at
)
SELECT 1,
  CASE WHEN ? = 1 AND next_inbox IS NOT NULL
    THEN pg_notify('holdfast_' || next_inbox, CONCAT(next_owner, ' ', number, ' ', expires_at,
      CASE WHEN next_mode = 'r' THEN ' r' END))::text END,
  CASE WHEN ? = 1 AND next_mode = 'r' THEN (
    SELECT COUNT(pg_notify('holdfast_' || a.inbox, a.owner)::text) FROM public.holdfast_lock_waiter a
    WHERE a.name = ? AND a.place > next_place AND a.mode = 'r' AND a.inbox IS NOT NULL
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND NOT EXISTS (
        SELECT 1 FROM public.holdfast_lock_waiter b WHERE b.name = ? AND b.mode = 'w'
          AND b.place BETWEEN next_place AND a.place
          AND b.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000)) END,
  CASE WHEN TRUE AND expires_at = 0
    THEN set_config('synchronous_commit', 'off', true) END
FROM ended;

-- A waiter accepts the lock, or takes it

UPDATE public.holdfast_lock SET number = (CASE WHEN owner = ? AND expires_at > now THEN number ELSE GREATEST(number + 1, now) END), changed_at = CASE WHEN owner = ? AND expires_at > now THEN changed_at ELSE now END, served = GREATEST(served, ?), holder = ?, owner = ?, expires_at = now + ? FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (owner = ? AND expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.place < ?)) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number;

-- A waiter leaves the line

DELETE FROM public.holdfast_lock_waiter
WHERE name IN (?) AND (owner IN (?) OR alive_until < (date_part('epoch', clock_timestamp()) * 1000000)::bigint - 600000000);

-- tryLock() to read a new name

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.mode = 'w' AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number;

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM public.holdfast_lock l LEFT JOIN public.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

INSERT INTO public.holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder) VALUES (?, '', 0, (date_part('epoch', clock_timestamp()) * 1000000)::bigint, 0, 0, 0, 0, '') ON CONFLICT (name) DO NOTHING;

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.mode = 'w' AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number;

-- tryLock() to read

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.mode = 'w' AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number;

-- Renewal of two to eight that read

WITH mine AS (SELECT name AS mine_name FROM public.holdfast_lock WHERE name IN (?,?,?,?,?,?,?,?) AND owner = '*' AND POSITION(CASE name WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? END IN readers) > 0 AND SUBSTRING(readers FROM POSITION(CASE name WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? END IN readers) + 32 FOR 16) > CONCAT('', (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 0) FOR UPDATE SKIP LOCKED) UPDATE public.holdfast_lock SET readers = REGEXP_REPLACE(readers, CONCAT(CASE name WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? END, '................'), CONCAT(CASE name WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? END, (date_part('epoch', clock_timestamp()) * 1000000)::bigint + ?)), expires_at = GREATEST(expires_at, (date_part('epoch', clock_timestamp()) * 1000000)::bigint + ?) FROM mine WHERE name = mine_name;

-- extend() of one that reads

UPDATE public.holdfast_lock SET expires_at = GREATEST(expires_at, now + (GREATEST(CAST(SUBSTRING(readers FROM POSITION(? IN readers) + 32 FOR 16) AS DECIMAL(20)) - now, ?))), readers = REGEXP_REPLACE(readers, CONCAT(?::text, '................'), CONCAT(?::text, GREATEST(SUBSTRING(readers FROM POSITION(? IN readers) + 32 FOR 16), CONCAT('', now + ?)))) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0 AND SUBSTRING(readers FROM POSITION(? IN readers) + 32 FOR 16) > CONCAT('', (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 0) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING CAST(SUBSTRING(readers FROM POSITION(? IN readers) + 32 FOR 16) AS DECIMAL(20)) - now;

-- close() by a reader

UPDATE public.holdfast_lock SET owner = CASE WHEN REGEXP_REPLACE(readers, CONCAT(?::text, '[^;]*;'), '') = '' THEN '' ELSE '*' END, changed_at = now, expires_at = CASE WHEN REGEXP_REPLACE(readers, CONCAT(?::text, '[^;]*;'), '') = '' THEN 1 ELSE expires_at END, readers = REGEXP_REPLACE(readers, CONCAT(?::text, '[^;]*;'), ''), guarded = guarded + 0 * (CASE WHEN readers = '' THEN 1 ELSE 2 + ABS(expires_at - CAST(SUBSTRING(readers FROM 33 FOR 16) AS DECIMAL(20))) END) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now, set_config('lock_timeout', '1s', true) FROM public.holdfast_lock l
  WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0 AND (REGEXP_REPLACE(readers, CONCAT(?::text, '[^;]*;'), '') <> '' OR wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000) FOR UPDATE
) mine WHERE name = mine_name
RETURNING CASE WHEN readers = '' THEN 1 ELSE 2 + ABS(expires_at - CAST(SUBSTRING(readers FROM 33 FOR 16) AS DECIMAL(20))) END, set_config('synchronous_commit', 'off', true);

-- The last reader hands the lock over if somebody waits

WITH mine AS (
  SELECT name AS mine_name, served AS mine_served, ?::bigint AS hold,
    (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now
  FROM public.holdfast_lock
  WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0 AND REGEXP_REPLACE(readers, CONCAT(?::text, '[^;]*;'), '') = '' FOR UPDATE SKIP LOCKED
), ended AS (
  UPDATE public.holdfast_lock l
  SET owner = CASE WHEN next_mode = 'r' THEN '*' ELSE COALESCE(next_owner, '') END,
    readers = CASE WHEN next_mode = 'r'
      THEN CONCAT(next_owner, now + 8000000, GREATEST(number + 1, now), next_holder, ';')
      ELSE readers END,
    holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
    number = CASE WHEN next_place IS NULL THEN number ELSE GREATEST(number + 1, now) END,
    changed_at = CASE WHEN hold = 0 THEN now ELSE changed_at END,
    expires_at = CASE WHEN next_place IS NOT NULL THEN now + 8000000
      WHEN hold = 0 THEN 0 ELSE now + hold END,
    wanted_until =
      CASE WHEN hold = 0 AND next_place IS NULL THEN 0 ELSE wanted_until END
  FROM mine LEFT JOIN LATERAL (
    SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
      a.inbox AS next_inbox, a.mode AS next_mode
    FROM public.holdfast_lock_waiter a
    WHERE a.name = mine_name AND a.place > mine_served AND hold = 0
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
    ORDER BY a.place LIMIT 1 FOR UPDATE NOWAIT
  ) next ON true
  WHERE l.name = mine_name
  RETURNING next_owner, next_inbox, next_mode, next_place, number, expires_at
)
SELECT 1,
  CASE WHEN ? = 1 AND next_inbox IS NOT NULL
    THEN pg_notify('holdfast_' || next_inbox, CONCAT(next_owner, ' ', number, ' ', expires_at,
      CASE WHEN next_mode = 'r' THEN ' r' END))::text END,
  CASE WHEN ? = 1 AND next_mode = 'r' THEN (
    SELECT COUNT(pg_notify('holdfast_' || a.inbox, a.owner)::text) FROM public.holdfast_lock_waiter a
    WHERE a.name = ? AND a.place > next_place AND a.mode = 'r' AND a.inbox IS NOT NULL
      AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND NOT EXISTS (
        SELECT 1 FROM public.holdfast_lock_waiter b WHERE b.name = ? AND b.mode = 'w'
          AND b.place BETWEEN next_place AND a.place
          AND b.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000)) END,
  CASE WHEN TRUE AND expires_at = 0
    THEN set_config('synchronous_commit', 'off', true) END
FROM ended;

-- tryLock() to read what is taken

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.mode = 'w' AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number;

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM public.holdfast_lock l LEFT JOIN public.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

-- lock() to read what is taken: joins the line

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.mode = 'w' AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number;

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM public.holdfast_lock l LEFT JOIN public.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

WITH mine AS (
  SELECT name AS mine_name FROM public.holdfast_lock
  WHERE name = ? AND expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 2000000 AND 8000000 FOR UPDATE SKIP LOCKED
), announced AS (
  UPDATE public.holdfast_lock SET wanted_until = (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 4000000 FROM mine WHERE name = mine_name
)
INSERT INTO public.holdfast_lock_waiter (name, owner, alive_until, holder, mode, inbox)
VALUES (?, ?, (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 4000000, ?, ?, NULLIF(?, ''))
RETURNING place;

-- A list without those whose time is over

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM public.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

UPDATE public.holdfast_lock SET owner = ?, expires_at = (?), readers = ? FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND owner = '*' AND readers = ? FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING expires_at;

-- A permit of a new semaphore

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?), served = GREATEST(served, ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND POSITION(CONCAT(?::text, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(?::text FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number, CASE WHEN ? = 1 AND NOT (wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000) AND CHAR_LENGTH(readers) - CHAR_LENGTH(REPLACE(readers, ';', '')) < ? THEN (
    SELECT pg_notify('holdfast_' || inbox, CONCAT(owner, ''))::text FROM (
      SELECT a.inbox, a.owner FROM public.holdfast_lock_waiter a
      WHERE a.name = mine_name AND a.place > served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
      ORDER BY a.place LIMIT 1) first
    WHERE inbox IS NOT NULL) END;

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM public.holdfast_lock l LEFT JOIN public.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

INSERT INTO public.holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder) VALUES (?, '', 0, (date_part('epoch', clock_timestamp()) * 1000000)::bigint, 0, 0, 0, 0, '') ON CONFLICT (name) DO NOTHING;

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?), served = GREATEST(served, ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND POSITION(CONCAT(?::text, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(?::text FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number, CASE WHEN ? = 1 AND NOT (wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000) AND CHAR_LENGTH(readers) - CHAR_LENGTH(REPLACE(readers, ';', '')) < ? THEN (
    SELECT pg_notify('holdfast_' || inbox, CONCAT(owner, ''))::text FROM (
      SELECT a.inbox, a.owner FROM public.holdfast_lock_waiter a
      WHERE a.name = mine_name AND a.place > served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
      ORDER BY a.place LIMIT 1) first
    WHERE inbox IS NOT NULL) END;

-- close() of one that has a permit

UPDATE public.holdfast_lock SET owner = CASE WHEN REGEXP_REPLACE(readers, CONCAT(?::text, '[^;]*;'), '') = '' THEN '' ELSE '*' END, changed_at = now, expires_at = CASE WHEN REGEXP_REPLACE(readers, CONCAT(?::text, '[^;]*;'), '') = '' THEN 1 ELSE expires_at END, readers = REGEXP_REPLACE(readers, CONCAT(?::text, '[^;]*;'), ''), guarded = guarded + 0 * (1) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0 FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING 1, set_config('synchronous_commit', 'off', true), CASE WHEN ? = 1 AND NOT (wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000) AND TRUE THEN (
    SELECT pg_notify('holdfast_' || inbox, CONCAT(owner, ?::text))::text FROM (
      SELECT a.inbox, a.owner FROM public.holdfast_lock_waiter a
      WHERE a.name = mine_name AND a.place > served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
      ORDER BY a.place LIMIT 1) first
    WHERE inbox IS NOT NULL) END;

-- A permit

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?), served = GREATEST(served, ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND POSITION(CONCAT(?::text, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(?::text FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number, CASE WHEN ? = 1 AND NOT (wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000) AND CHAR_LENGTH(readers) - CHAR_LENGTH(REPLACE(readers, ';', '')) < ? THEN (
    SELECT pg_notify('holdfast_' || inbox, CONCAT(owner, ''))::text FROM (
      SELECT a.inbox, a.owner FROM public.holdfast_lock_waiter a
      WHERE a.name = mine_name AND a.place > served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
      ORDER BY a.place LIMIT 1) first
    WHERE inbox IS NOT NULL) END;

-- holders()

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM public.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

-- The guard of a transaction

UPDATE public.holdfast_lock SET guarded = guarded + 1 WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0;

-- close() of one with a minimum hold

UPDATE public.holdfast_lock SET expires_at = GREATEST(expires_at, now + ?), readers = REGEXP_REPLACE(readers, CONCAT(?::text, '................'), CONCAT('k', SUBSTRING(?::text FROM 2), now + ?)), guarded = guarded + 0 * (1) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0 FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING 1;

-- A permit, after a wrong guess

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?), served = GREATEST(served, ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND POSITION(CONCAT(?::text, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(?::text FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number, CASE WHEN ? = 1 AND NOT (wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000) AND CHAR_LENGTH(readers) - CHAR_LENGTH(REPLACE(readers, ';', '')) < ? THEN (
    SELECT pg_notify('holdfast_' || inbox, CONCAT(owner, ''))::text FROM (
      SELECT a.inbox, a.owner FROM public.holdfast_lock_waiter a
      WHERE a.name = mine_name AND a.place > served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
      ORDER BY a.place LIMIT 1) first
    WHERE inbox IS NOT NULL) END;

SELECT l.name, l.owner, l.number, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - l.changed_at, l.changed_at, l.expires_at - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint, l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM public.holdfast_lock l LEFT JOIN public.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

UPDATE public.holdfast_lock SET readers = CONCAT(?::text, now + ?, GREATEST(number + 1, now), ?::text, ?::text, ';', CASE WHEN owner = '*' AND expires_at > now THEN readers ELSE '' END), number = (GREATEST(number + 1, now)), owner = '*', changed_at = now, holder = ?, expires_at = GREATEST(expires_at, now + ?), served = GREATEST(served, ?) FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now FROM public.holdfast_lock l
  WHERE name = ? AND (expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint OR owner = '*' AND POSITION(CONCAT(?::text, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(?::text FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM public.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000 AND a.place < ?) FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number, CASE WHEN ? = 1 AND NOT (wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000) AND CHAR_LENGTH(readers) - CHAR_LENGTH(REPLACE(readers, ';', '')) < ? THEN (
    SELECT pg_notify('holdfast_' || inbox, CONCAT(owner, ''))::text FROM (
      SELECT a.inbox, a.owner FROM public.holdfast_lock_waiter a
      WHERE a.name = mine_name AND a.place > served AND a.alive_until BETWEEN (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND (date_part('epoch', clock_timestamp()) * 1000000)::bigint + 8000000
      ORDER BY a.place LIMIT 1) first
    WHERE inbox IS NOT NULL) END;

-- The line after its places were set back

WITH mine AS (SELECT name AS mine_name FROM public.holdfast_lock WHERE name IN (?) AND served >= ? FOR UPDATE SKIP LOCKED) UPDATE public.holdfast_lock SET served = ? - 1 FROM mine WHERE name = mine_name;

-- build(): the trial of a waiter's rights

WITH joined AS (
  INSERT INTO public.holdfast_lock_waiter (name, owner, alive_until, holder)
  SELECT ?, ?, 0, ? WHERE FALSE
), alive AS (UPDATE public.holdfast_lock_waiter SET alive_until = 0 WHERE FALSE)
DELETE FROM public.holdfast_lock_waiter WHERE FALSE;

-- purge()

SELECT name FROM public.holdfast_lock WHERE name > ? AND changed_at > 0 AND changed_at < (date_part('epoch', clock_timestamp()) * 1000000)::bigint - ? AND expires_at < (date_part('epoch', clock_timestamp()) * 1000000)::bigint - ? AND wanted_until < (date_part('epoch', clock_timestamp()) * 1000000)::bigint ORDER BY name LIMIT 512;

WITH mine AS (SELECT name AS mine_name FROM public.holdfast_lock WHERE name IN (?) AND changed_at > 0 AND changed_at < (date_part('epoch', clock_timestamp()) * 1000000)::bigint - ? AND expires_at < (date_part('epoch', clock_timestamp()) * 1000000)::bigint - ? AND wanted_until < (date_part('epoch', clock_timestamp()) * 1000000)::bigint FOR UPDATE SKIP LOCKED) DELETE FROM public.holdfast_lock USING mine WHERE name = mine_name;

DELETE FROM public.holdfast_lock_waiter WHERE alive_until < (date_part('epoch', clock_timestamp()) * 1000000)::bigint - ?;

-- TransactionLock: tryLock() of a new name

UPDATE holdfast_lock SET guarded = guarded + 1, changed_at = (date_part('epoch', clock_timestamp()) * 1000000)::bigint
WHERE name = (SELECT name FROM holdfast_lock WHERE name = ? FOR UPDATE SKIP LOCKED);

SELECT 1 FROM holdfast_lock WHERE name = ?;

SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))::int;

INSERT INTO holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder) VALUES (?, '', 0, (date_part('epoch', clock_timestamp()) * 1000000)::bigint, 0, 0, 0, 0, '') ON CONFLICT (name) DO NOTHING;

-- TransactionLock: lock()

UPDATE holdfast_lock SET guarded = guarded + 1, changed_at = (date_part('epoch', clock_timestamp()) * 1000000)::bigint WHERE name = ?;

-- TransactionLock: tryLock()

UPDATE holdfast_lock SET guarded = guarded + 1, changed_at = (date_part('epoch', clock_timestamp()) * 1000000)::bigint
WHERE name = (SELECT name FROM holdfast_lock WHERE name = ? FOR UPDATE SKIP LOCKED);

-- Without autocommit: tryLock() of a new name

WITH taken AS (UPDATE public.holdfast_lock SET number = (GREATEST(number + 1, now)), owner = ?, changed_at = now, expires_at = now + ?, holder = ? FROM (
  SELECT name AS mine_name, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now, CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
    NOT BETWEEN '1 ms' AND '10 s'
  THEN set_config('idle_in_transaction_session_timeout', '10 s', true) END FROM public.holdfast_lock l
  WHERE name = ? AND expires_at <= (date_part('epoch', clock_timestamp()) * 1000000)::bigint AND wanted_until - (date_part('epoch', clock_timestamp()) * 1000000)::bigint NOT BETWEEN 0 AND 8000000 FOR UPDATE SKIP LOCKED
) mine WHERE name = mine_name
RETURNING number
)
SELECT COALESCE((SELECT number FROM taken), (
  SELECT CASE WHEN expires_at > (date_part('epoch', clock_timestamp()) * 1000000)::bigint THEN 1 ELSE 2 END FROM public.holdfast_lock WHERE name = ?
), 0);

INSERT INTO public.holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
SELECT ?, ?, now, now, now + ?, 0, 0, 0, ?
FROM (SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now) clock
ON CONFLICT (name) DO NOTHING
RETURNING number, CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
    NOT BETWEEN '1 ms' AND '10 s'
  THEN set_config('idle_in_transaction_session_timeout', '10 s', true) END;
