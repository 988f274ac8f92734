-- tryLock() of a new name

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock SET number = CASE WHEN expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000 THEN LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))))
    WHEN LAST_INSERT_ID(IF(expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 1, 2)) THEN number END,
  owner = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, owner), holder = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, holder),
  changed_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at), wanted_until = wanted_until,
  expires_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, expires_at) WHERE name = ?;

INSERT INTO `holdfast`.holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
VALUES (?, ?, LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, 0, 0, 0, ?);

-- tryLock() of a lock that is taken

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock SET number = CASE WHEN expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000 THEN LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))))
    WHEN LAST_INSERT_ID(IF(expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 1, 2)) THEN number END,
  owner = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, owner), holder = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, holder),
  changed_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at), wanted_until = wanted_until,
  expires_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, expires_at) WHERE name = ?;

-- close() within ten milliseconds

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET owner = '', changed_at = IF(? = 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at),
expires_at = IF(? = 0, 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?)
 WHERE name = ? AND owner = ? AND number = ? AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000;

-- tryLock() of a lock that is free

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock SET number = CASE WHEN expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000 THEN LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))))
    WHEN LAST_INSERT_ID(IF(expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 1, 2)) THEN number END,
  owner = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, owner), holder = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, holder),
  changed_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at), wanted_until = wanted_until,
  expires_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, expires_at) WHERE name = ?;

-- Renewal of a lease

UPDATE /*+ NO_MERGE(mine) */ (SELECT name AS mine_name FROM `holdfast`.holdfast_lock FORCE INDEX (PRIMARY)
WHERE name IN (?) AND owner IN (?) AND number IN (?) AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))) FOR UPDATE SKIP LOCKED
) mine
STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name SET expires_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?;

-- Renewal of two to eight leases

UPDATE /*+ NO_MERGE(mine) */ (SELECT name AS mine_name FROM `holdfast`.holdfast_lock FORCE INDEX (PRIMARY)
WHERE name IN (?,?,?,?,?,?,?,?) AND owner IN (?,?,?,?,?,?,?,?) AND number IN (?,?,?,?,?,?,?,?) AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))) FOR UPDATE SKIP LOCKED
) mine
STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name SET expires_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?;

-- extend()

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET expires_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + LAST_INSERT_ID(GREATEST(expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), ?)) WHERE name = ? AND owner = ? AND number = ? AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)));

-- verify()

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM `holdfast`.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

-- inspect()

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM `holdfast`.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

-- list()

SELECT name FROM `holdfast`.holdfast_lock l WHERE name >= ? AND name < ?
ORDER BY name LIMIT 1 OFFSET 10000;

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), '', (SELECT COUNT(*) FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000), 0 FROM `holdfast`.holdfast_lock l
WHERE name >= ? AND name < ? AND l.expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))
ORDER BY name LIMIT ?;

-- The guard of a transaction

UPDATE `holdfast`.holdfast_lock SET guarded = guarded + 1
WHERE name = ? AND owner = ? AND number = ?;

-- forceRelease()

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE (
  SELECT name AS mine_name, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AS mine_number
  FROM `holdfast`.holdfast_lock WHERE name = ? AND number = ? AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND owner <> '*' LIMIT 1 FOR UPDATE SKIP LOCKED
) mine LEFT JOIN (
  SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
    a.mode AS next_mode
  FROM `holdfast`.holdfast_lock b STRAIGHT_JOIN `holdfast`.holdfast_lock_waiter a ON a.name = b.name AND a.place > b.served
  WHERE b.name = ? AND ? = 0 AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000
  ORDER BY a.place LIMIT 1 FOR UPDATE
) next ON TRUE STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name
SET owner = IF(next_mode = 'r', '*', COALESCE(next_owner, '')),
  readers = IF(next_mode = 'r',
    CONCAT(next_owner, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000, mine_number, next_holder, ';'), readers),
  holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
  number = IF(next_place IS NULL, number, mine_number),
  changed_at = IF(? = 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at),
  expires_at = IF(next_place IS NULL, IF(? = 0, 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000),
  wanted_until = IF(? = 0 AND next_place IS NULL, 0, wanted_until);

-- Release after an acquire without an answer

DELETE FROM `holdfast`.holdfast_lock_waiter
WHERE name IN (?) AND (owner IN (?) OR alive_until < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - 600000000);

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM `holdfast`.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE (
  SELECT name AS mine_name, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AS mine_number
  FROM `holdfast`.holdfast_lock WHERE name = ? AND owner = ? LIMIT 1 FOR UPDATE SKIP LOCKED
) mine LEFT JOIN (
  SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
    a.mode AS next_mode
  FROM `holdfast`.holdfast_lock b STRAIGHT_JOIN `holdfast`.holdfast_lock_waiter a ON a.name = b.name AND a.place > b.served
  WHERE b.name = ? AND ? = 0 AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000
  ORDER BY a.place LIMIT 1 FOR UPDATE
) next ON TRUE STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name
SET owner = IF(next_mode = 'r', '*', COALESCE(next_owner, '')),
  readers = IF(next_mode = 'r',
    CONCAT(next_owner, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000, mine_number, next_holder, ';'), readers),
  holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
  number = IF(next_place IS NULL, number, mine_number),
  changed_at = IF(? = 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at),
  expires_at = IF(next_place IS NULL, IF(? = 0, 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000),
  wanted_until = IF(? = 0 AND next_place IS NULL, 0, wanted_until);

-- lock() of a lock that is taken: joins the line

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock SET number = CASE WHEN expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000 THEN LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))))
    WHEN LAST_INSERT_ID(IF(expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 1, 2)) THEN number END,
  owner = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, owner), holder = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, holder),
  changed_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at), wanted_until = CASE WHEN expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 2000000 AND 8000000 THEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 4000000 ELSE wanted_until END,
  expires_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, expires_at) WHERE name = ?;

INSERT INTO `holdfast`.holdfast_lock_waiter (name, owner, alive_until, holder, mode)
VALUES (?, ?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 4000000, ?, ?);

-- A waiter's poll

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM `holdfast`.holdfast_lock l LEFT JOIN `holdfast`.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

-- A waiter's sign of life

UPDATE `holdfast`.holdfast_lock_waiter SET alive_until = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 4000000
WHERE name IN (?) AND owner IN (?);

-- A waiter's announcement that somebody waits

UPDATE /*+ NO_MERGE(mine) */ (SELECT name AS mine_name FROM `holdfast`.holdfast_lock FORCE INDEX (PRIMARY)
WHERE name IN (?) AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) FOR UPDATE SKIP LOCKED
) mine
STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name SET wanted_until = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 4000000;

-- close() later than that, or while another waits

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE (
  SELECT name AS mine_name, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AS mine_number
  FROM `holdfast`.holdfast_lock WHERE name = ? AND owner = ? AND number = ? LIMIT 1 FOR UPDATE SKIP LOCKED
) mine LEFT JOIN (
  SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
    a.mode AS next_mode
  FROM `holdfast`.holdfast_lock b STRAIGHT_JOIN `holdfast`.holdfast_lock_waiter a ON a.name = b.name AND a.place > b.served
  WHERE b.name = ? AND ? = 0 AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000
  ORDER BY a.place LIMIT 1 FOR UPDATE
) next ON TRUE STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name
SET owner = IF(next_mode = 'r', '*', COALESCE(next_owner, '')),
  readers = IF(next_mode = 'r',
    CONCAT(next_owner, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000, mine_number, next_holder, ';'), readers),
  holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
  number = IF(next_place IS NULL, number, mine_number),
  changed_at = IF(? = 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at),
  expires_at = IF(next_place IS NULL, IF(? = 0, 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000),
  wanted_until = IF(? = 0 AND next_place IS NULL, 0, wanted_until);

-- The same if the first waiter's row is locked

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE (
  SELECT name AS mine_name, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AS mine_number
  FROM `holdfast`.holdfast_lock WHERE name = ? AND owner = ? AND number = ? LIMIT 1 FOR UPDATE SKIP LOCKED
) mine LEFT JOIN (
  SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
    a.mode AS next_mode
  FROM `holdfast`.holdfast_lock b STRAIGHT_JOIN `holdfast`.holdfast_lock_waiter a ON a.name = b.name AND a.place > b.served
  WHERE b.name = ? AND ? = 0 AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000
  ORDER BY a.place LIMIT 1 FOR UPDATE SKIP LOCKED
) next ON TRUE STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name
SET owner = IF(next_mode = 'r', '*', COALESCE(next_owner, '')),
  readers = IF(next_mode = 'r',
    CONCAT(next_owner, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000, mine_number, next_holder, ';'), readers),
  holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
  number = IF(next_place IS NULL, number, mine_number),
  changed_at = IF(? = 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at),
  expires_at = IF(next_place IS NULL, IF(? = 0, 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000),
  wanted_until = IF(? = 0 AND next_place IS NULL, 0, wanted_until);

-- A waiter accepts the lock, or takes it

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET number = LAST_INSERT_ID(CASE WHEN owner = ? AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN number ELSE GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) END), changed_at = CASE WHEN owner = ? AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN changed_at ELSE TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) END, served = GREATEST(served, ?), holder = ?, owner = ?, expires_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ? WHERE name = ? AND (owner = ? AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.place < ?));

-- A waiter leaves the line

DELETE FROM `holdfast`.holdfast_lock_waiter
WHERE name IN (?) AND (owner IN (?) OR alive_until < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - 600000000);

-- tryLock() to read a new name

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.mode = 'w' AND a.place < ?);

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM `holdfast`.holdfast_lock l LEFT JOIN `holdfast`.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

INSERT INTO `holdfast`.holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder) VALUES (?, '', 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 0, 0, 0, 0, '') ON DUPLICATE KEY UPDATE guarded = `holdfast`.holdfast_lock.guarded + 1, changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6));

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.mode = 'w' AND a.place < ?);

-- tryLock() to read

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.mode = 'w' AND a.place < ?);

-- Renewal of two to eight that read

UPDATE /*+ NO_MERGE(mine) */ (SELECT name AS mine_name FROM `holdfast`.holdfast_lock FORCE INDEX (PRIMARY)
WHERE name IN (?,?,?,?,?,?,?,?) AND owner = '*' AND POSITION(CASE name WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? END IN readers) > 0 AND SUBSTRING(readers FROM POSITION(CASE name WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? END IN readers) + 32 FOR 16) > CONCAT('', TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)))) FOR UPDATE SKIP LOCKED
) mine
STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name SET readers = REGEXP_REPLACE(readers, CONCAT(CASE name WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? END, '................'), CONCAT(CASE name WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? WHEN ? THEN ? END, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?)), expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?);

-- extend() of one that reads

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + LAST_INSERT_ID(GREATEST(CAST(SUBSTRING(readers FROM POSITION(? IN readers) + 32 FOR 16) AS DECIMAL(20)) - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), ?))), readers = REGEXP_REPLACE(readers, CONCAT(?, '................'), CONCAT(?, GREATEST(SUBSTRING(readers FROM POSITION(? IN readers) + 32 FOR 16), CONCAT('', TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?)))) WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0 AND SUBSTRING(readers FROM POSITION(? IN readers) + 32 FOR 16) > CONCAT('', TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))));

-- close() by a reader

SET STATEMENT innodb_lock_wait_timeout = 1 FOR UPDATE `holdfast`.holdfast_lock l SET owner = CASE WHEN REGEXP_REPLACE(readers, CONCAT(?, '[^;]*;'), '') = '' THEN '' ELSE '*' END, changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), expires_at = CASE WHEN REGEXP_REPLACE(readers, CONCAT(?, '[^;]*;'), '') = '' THEN 1 ELSE expires_at END, readers = REGEXP_REPLACE(readers, CONCAT(?, '[^;]*;'), ''), guarded = guarded + 0 * LAST_INSERT_ID(CASE WHEN readers = '' THEN 1 ELSE 2 + ABS(expires_at - CAST(SUBSTRING(readers FROM 33 FOR 16) AS DECIMAL(20))) END) WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0 AND (REGEXP_REPLACE(readers, CONCAT(?, '[^;]*;'), '') <> '' OR wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000);

-- The last reader hands the lock over if somebody waits

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE (
  SELECT name AS mine_name, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))) AS mine_number
  FROM `holdfast`.holdfast_lock WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0 AND REGEXP_REPLACE(readers, CONCAT(?, '[^;]*;'), '') = '' LIMIT 1 FOR UPDATE SKIP LOCKED
) mine LEFT JOIN (
  SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
    a.mode AS next_mode
  FROM `holdfast`.holdfast_lock b STRAIGHT_JOIN `holdfast`.holdfast_lock_waiter a ON a.name = b.name AND a.place > b.served
  WHERE b.name = ? AND ? = 0 AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000
  ORDER BY a.place LIMIT 1 FOR UPDATE
) next ON TRUE STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name
SET owner = IF(next_mode = 'r', '*', COALESCE(next_owner, '')),
  readers = IF(next_mode = 'r',
    CONCAT(next_owner, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000, mine_number, next_holder, ';'), readers),
  holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
  number = IF(next_place IS NULL, number, mine_number),
  changed_at = IF(? = 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at),
  expires_at = IF(next_place IS NULL, IF(? = 0, 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000),
  wanted_until = IF(? = 0 AND next_place IS NULL, 0, wanted_until);

-- tryLock() to read what is taken

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.mode = 'w' AND a.place < ?);

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM `holdfast`.holdfast_lock l LEFT JOIN `holdfast`.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

-- lock() to read what is taken: joins the line

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND CHAR_LENGTH(readers) < 100000 AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.mode = 'w' AND a.place < ?);

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM `holdfast`.holdfast_lock l LEFT JOIN `holdfast`.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

UPDATE /*+ NO_MERGE(mine) */ (SELECT name AS mine_name FROM `holdfast`.holdfast_lock FORCE INDEX (PRIMARY)
WHERE name IN (?) AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) FOR UPDATE SKIP LOCKED
) mine
STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name SET wanted_until = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 4000000;

INSERT INTO `holdfast`.holdfast_lock_waiter (name, owner, alive_until, holder, mode)
VALUES (?, ?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 4000000, ?, ?);

-- A list without those whose time is over

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM `holdfast`.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET owner = ?, expires_at = LAST_INSERT_ID(?), readers = ? WHERE name = ? AND owner = '*' AND readers = ?;

-- A permit of a new semaphore

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), served = GREATEST(served, ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND POSITION(CONCAT(?, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(? FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.place < ?);

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM `holdfast`.holdfast_lock l LEFT JOIN `holdfast`.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

INSERT INTO `holdfast`.holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder) VALUES (?, '', 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 0, 0, 0, 0, '') ON DUPLICATE KEY UPDATE guarded = `holdfast`.holdfast_lock.guarded + 1, changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6));

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), served = GREATEST(served, ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND POSITION(CONCAT(?, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(? FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.place < ?);

-- close() of one that has a permit

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET owner = CASE WHEN REGEXP_REPLACE(readers, CONCAT(?, '[^;]*;'), '') = '' THEN '' ELSE '*' END, changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), expires_at = CASE WHEN REGEXP_REPLACE(readers, CONCAT(?, '[^;]*;'), '') = '' THEN 1 ELSE expires_at END, readers = REGEXP_REPLACE(readers, CONCAT(?, '[^;]*;'), ''), guarded = guarded + 0 * LAST_INSERT_ID(1) WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0;

-- A permit

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), served = GREATEST(served, ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND POSITION(CONCAT(?, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(? FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.place < ?);

-- holders()

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, '') FROM `holdfast`.holdfast_lock l WHERE l.name IN (?) LIMIT 512;

-- The guard of a transaction

UPDATE `holdfast`.holdfast_lock SET guarded = guarded + 1 WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0;

-- close() of one with a minimum hold

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), readers = REGEXP_REPLACE(readers, CONCAT(?, '................'), CONCAT('k', SUBSTRING(? FROM 2), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?)), guarded = guarded + 0 * LAST_INSERT_ID(1) WHERE name = ? AND owner = '*' AND POSITION(? IN readers) > 0;

-- A permit, after a wrong guess

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), served = GREATEST(served, ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND POSITION(CONCAT(?, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(? FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.place < ?);

SELECT l.name, l.owner, l.number, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - l.changed_at, l.changed_at, l.expires_at - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), l.served, l.holder, COALESCE(CASE WHEN l.owner = '*' THEN l.readers END, ''), COALESCE(w.owner, ''),
  (SELECT COUNT(*) FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND (w.place IS NULL OR a.place < w.place)
    AND (a.mode <> 'r' OR COALESCE(w.mode, ?) <> 'r')),
  CASE WHEN w.place > l.served THEN 1 ELSE 0 END
FROM `holdfast`.holdfast_lock l LEFT JOIN `holdfast`.holdfast_lock_waiter w ON w.name = l.name AND w.owner IN (?)
WHERE l.name IN (?) LIMIT 512;

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock l SET readers = CONCAT(?, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), ?, ?, ';', CASE WHEN owner = '*' AND expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) THEN readers ELSE '' END), number = LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)))), owner = '*', changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), holder = ?, expires_at = GREATEST(expires_at, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?), served = GREATEST(served, ?) WHERE name = ? AND (expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) OR owner = '*' AND POSITION(CONCAT(?, ';') IN readers) = 0 AND SUBSTRING(readers FROM CHAR_LENGTH(readers) - 10 FOR 6) = SUBSTRING(? FROM 1 FOR 6) AND POSITION(? IN readers) = 0) AND served < ? AND NOT EXISTS (SELECT 1 FROM `holdfast`.holdfast_lock_waiter a WHERE a.name = l.name AND a.place > l.served AND a.alive_until BETWEEN TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + 8000000 AND a.place < ?);

-- The line after its places were set back

UPDATE /*+ NO_MERGE(mine) */ (SELECT name AS mine_name FROM `holdfast`.holdfast_lock FORCE INDEX (PRIMARY)
WHERE name IN (?) AND served >= ? FOR UPDATE SKIP LOCKED
) mine
STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name SET served = ? - 1;

-- build(): the trial of a waiter's rights

INSERT INTO `holdfast`.holdfast_lock_waiter (name, owner, alive_until, holder)
SELECT name, owner, 0, holder FROM `holdfast`.holdfast_lock_waiter WHERE FALSE
ON DUPLICATE KEY UPDATE alive_until = 0;

DELETE FROM `holdfast`.holdfast_lock_waiter
WHERE name IN (?) AND (owner IN (?) OR alive_until < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - 600000000);

-- purge()

SELECT name FROM `holdfast`.holdfast_lock WHERE name > ? AND changed_at > 0 AND changed_at < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - ? AND expires_at < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - ? AND wanted_until < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) ORDER BY name LIMIT 512;

DELETE /*+ NO_MERGE(mine) */ `holdfast`.holdfast_lock FROM (SELECT name AS mine_name FROM `holdfast`.holdfast_lock FORCE INDEX (PRIMARY)
WHERE name IN (?) AND changed_at > 0 AND changed_at < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - ? AND expires_at < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - ? AND wanted_until < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) FOR UPDATE SKIP LOCKED
) mine
STRAIGHT_JOIN `holdfast`.holdfast_lock ON name = mine_name;

DELETE FROM `holdfast`.holdfast_lock_waiter WHERE alive_until < TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) - ?;

-- TransactionLock: tryLock() of a new name

SET STATEMENT innodb_lock_wait_timeout = 0 FOR INSERT INTO holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder) VALUES (?, '', 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 0, 0, 0, 0, '') ON DUPLICATE KEY UPDATE guarded = holdfast_lock.guarded + 1, changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6));

-- TransactionLock: lock()

INSERT INTO holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder) VALUES (?, '', 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 0, 0, 0, 0, '') ON DUPLICATE KEY UPDATE guarded = holdfast_lock.guarded + 1, changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6));

-- TransactionLock: tryLock()

SET STATEMENT innodb_lock_wait_timeout = 0 FOR INSERT INTO holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder) VALUES (?, '', 0, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 0, 0, 0, 0, '') ON DUPLICATE KEY UPDATE guarded = holdfast_lock.guarded + 1, changed_at = TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6));

-- Without autocommit: tryLock() of a new name

SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE `holdfast`.holdfast_lock SET number = CASE WHEN expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000 THEN LAST_INSERT_ID(GREATEST(number + 1, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))))
    WHEN LAST_INSERT_ID(IF(expires_at > TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), 1, 2)) THEN number END,
  owner = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, owner), holder = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, ?, holder),
  changed_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), changed_at), wanted_until = wanted_until,
  expires_at = IF(expires_at <= TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) AND wanted_until - TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 8000000, TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, expires_at) WHERE name = ?;

INSERT INTO `holdfast`.holdfast_lock (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
VALUES (?, ?, LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)), TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)) + ?, 0, 0, 0, ?);
