-- The functions of the scripts that must know who has the lock, or that change a grant which is
-- shared; put before each of them. KEYS as in key.lua.

local READ_AT_ONCE = 50
local WITHOUT_END = 3600000

local function now_millis()
  local clock = redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end

-- For how long the key lives (ms). It has an end, unless somebody else made it.
local function key_left()
  local left = redis.call('PTTL', KEYS[1])
  return left < 0 and WITHOUT_END or left
end

-- Reads the grants of a lock that is shared; each has its place in the list as its index. The key
-- ends when the last of them has ended and what is kept is over. If it ends at another time, then
-- it came from a server with another clock, and all of their ends have moved as the key's did.
local function read_shared(lock)
  local latest, index, more = 0, 1, true
  while more do
    local entries = redis.call('LRANGE', KEYS[1], index, index + READ_AT_ONCE - 1)
    more = #entries == READ_AT_ONCE
    for _, entry in ipairs(entries) do
      local owner, state, permit, ends, number, holder =
        string.match(entry, '^g|(%x+)|(%a)|(%d+)|(%d+)|(%d+)|(.*)$')
      if not owner then
        more = false
        break
      end
      lock.shared[index] = {
        entry = entry, owner = owner, state = state, permit = tonumber(permit),
        ends = tonumber(ends), number = number, holder = holder
      }
      latest = math.max(latest, lock.shared[index].ends)
      index = index + 1
    end
  end
  lock.now = now_millis()
  if not lock.shared[1] then
    lock.state, lock.left = '', key_left() -- By grants of a later version.
    return
  end
  local ends = redis.call('PEXPIRETIME', KEYS[1])
  if ends > 0 then
    lock.moved = ends - lock.kept - latest
    for _, grant in ipairs(lock.shared) do
      grant.ends = grant.ends + lock.moved
    end
  end
  lock.left = latest + lock.moved - lock.now
end

-- The last grant, for how long it still stands (ms; below zero: it does not), and the grants of
-- those who share the lock; nil: none is known. Redis counts whole milliseconds: at zero, a part of
-- the last one can be left.
local function read(first_entry)
  local value = first_entry or redis.call('LINDEX', KEYS[1], 0)
  if not value then
    return nil
  end
  local lock = {shared = {}, moved = 0}
  local owner, state, number, kept, holder =
    string.match(value, '^([%-%x]+)|(%a)|(%d+)|(%d+)|(.*)$')
  if not owner then
    lock.owner, lock.state, lock.number, lock.kept, lock.holder = '', '', '0', 0, value
    lock.left = key_left()
    return lock
  end
  lock.owner, lock.state, lock.number, lock.kept, lock.holder =
    owner, state, number, tonumber(kept), holder
  if state == 's' then
    read_shared(lock)
  else
    lock.left = state == 'f' and -1 or redis.call('PTTL', KEYS[1]) - lock.kept
  end
  return lock
end

-- The grant of this attempt among those who share the lock, even if its time is over.
local function shared_of(lock, owner)
  for _, grant in ipairs(lock and lock.shared or {}) do
    if grant.owner == owner then
      return grant
    end
  end
  return nil
end

-- The grant of this attempt that may be renewed, and write.
local function standing_of(lock, owner)
  local grant = shared_of(lock, owner)
  return grant and grant.state == 'h' and grant.ends > lock.now and grant or nil
end

-- Writes a grant that is shared, and all of them if the key has moved. The key's end comes first: a
-- server whose memory is full refuses an LSET as the first write of a script, and what is held must
-- be renewed and freed there, too.
local function write(lock, changed)
  local latest = 0
  for _, grant in ipairs(lock.shared) do
    latest = math.max(latest, grant.ends)
  end
  redis.call('PEXPIREAT', KEYS[1], latest + lock.kept)
  for index, grant in ipairs(lock.shared) do
    if grant == changed or lock.moved ~= 0 then
      grant.entry = table.concat({
        'g', grant.owner, grant.state, grant.permit, grant.ends, grant.number, grant.holder
      }, '|')
      redis.call('LSET', KEYS[1], index, grant.entry)
    end
  end
  lock.moved = 0
  lock.left = latest - lock.now
end
