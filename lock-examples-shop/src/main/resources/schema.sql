-- Both instances may start at once, and PostgreSQL's IF NOT EXISTS is no help against that.
SELECT pg_advisory_lock(4711);
CREATE TABLE IF NOT EXISTS event (
  name VARCHAR(100) PRIMARY KEY,
  tickets_left INT NOT NULL
);
-- No unique constraint on the number: that is what the lock is for here, and what the check looks at.
CREATE TABLE IF NOT EXISTS ticket (
  event VARCHAR(100) NOT NULL REFERENCES event,
  number INT NOT NULL,
  purchase VARCHAR(100) NOT NULL,
  seller VARCHAR(100) NOT NULL,
  began TIMESTAMPTZ NOT NULL,
  sold TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (event, purchase)
);
SELECT pg_advisory_unlock(4711);
