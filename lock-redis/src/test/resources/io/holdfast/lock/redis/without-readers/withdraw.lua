-- What the key of a lock is, and what scripts share that take it.
--
-- KEYS[1] is a list, and all that there is of a lock: while a Cluster moves its slot, a lock is at one
-- node or the other, and moves as a whole, with the time that it has left.
--   First the last grant:
--     owner id '|' state '|' number '|' kept (ms) '|' holder
--   The state is 'h' (held), 'r' (released, and a minimum hold keeps the name taken) or 'f' (free):
--   then the owner id is '-', and nobody the holder.
--   Behind it the line, in the order of joining:
--     owner id '|' alive until (ms) '|' TTL (ms) '|' claim (ms) '|' look '|' channel '|' holder
--
-- The key outlives the grant by what is "kept", and with it the number. A grant stands while more than
-- that is left to the key.
--
-- A number is the time of its grant, unless the last one was not below that: who looks tells from it
-- since when the lock is held.
--
-- No script empties the list: while its slot moves, a key that went can't be made again where it was.

-- The server's time in microseconds: decimal, 16 digits, and below 2^53 until the year 2255.
local function time_now()
  local clock = redis.call('TIME')
  return clock[1] .. string.sub('00000' .. clock[2], -6)
end
-- What the scripts share that have to do with the line; it is put before each of them, after
-- grant.lua. KEYS as there.

local PLACES_LOOKED_AT_MAX = 100
local NOBODY = '-'

local function now_millis()
  local clock = redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end

-- The last grant, and for how long it stands yet (ms, none: below zero); nil: none is known. Redis
-- counts whole milliseconds: at zero, up to one of what was promised is left.
local function last_grant()
  local value = redis.call('LINDEX', KEYS[1], 0)
  if not value then
    return nil
  end
  local owner, state, number, kept, holder =
    string.match(value, '^([%-%x]+)|(%a)|(%d+)|(%d+)|(.*)$')
  return {
    owner = owner,
    state = state,
    number = number,
    kept = tonumber(kept),
    holder = holder,
    left = state == 'f' and -1 or redis.call('PTTL', KEYS[1]) - kept
  }
end

local function stands(last)
  return last and last.left >= 0
end

local function text(owner, state, number, kept, holder)
  return table.concat({owner, state, number, kept, holder}, '|')
end

-- The time, or one more than the last number if that is not below it.
local function next_number(last)
  local number = time_now()
  if last and tonumber(last.number) >= tonumber(number) then
    return string.format('%.0f', last.number + 1)
  end
  return number
end

-- Gives the lock to an attempt that is not in line. Returns the number.
local function grant(last, owner, ttl, kept, holder)
  local number = next_number(last)
  local value = text(owner, 'h', number, kept, holder)
  if last then
    redis.call('LSET', KEYS[1], 0, value)
  else
    redis.call('RPUSH', KEYS[1], value)
  end
  redis.call('PEXPIRE', KEYS[1], ttl + kept)
  return tonumber(number)
end

-- The first in line that still lives, or nil; those before it are dropped.
local function first()
  local now = now_millis()
  for _ = 1, PLACES_LOOKED_AT_MAX do
    local place = redis.call('LINDEX', KEYS[1], 1)
    if not place then
      return nil
    end
    local owner, alive, claim, look, channel, holder =
      string.match(place, '^(%x+)|(%d+)|%d+|(%d+)|(%d+)|([^|]*)|(.*)$')
    if owner and tonumber(alive) > now then
      return {owner = owner, claim = claim, look = look, channel = channel, holder = holder}
    end
    redis.call('LREM', KEYS[1], 1, place)
  end
  return nil
end

-- Joins the line, or brings the place there up to date.
local function join(place)
  local owner = string.sub(place, 1, 32)
  for index, other in ipairs(redis.call('LRANGE', KEYS[1], 1, -1)) do
    if string.sub(other, 1, 32) == owner then
      redis.call('LSET', KEYS[1], index, place)
      return
    end
  end
  redis.call('RPUSH', KEYS[1], place)
end

-- Leaves the line; the owner id may be the beginning of one. Returns whether it was there.
local function leave(owner)
  local left = false
  for _, place in ipairs(redis.call('LRANGE', KEYS[1], 1, -1)) do
    if string.sub(place, 1, #owner) == owner then
      redis.call('LREM', KEYS[1], 1, place)
      left = true
    end
  end
  return left
end

-- Tells a waiter the number of its grant, or 0: that it is to look. Whoever misses that finds out at
-- its next look. It says from which look the place was, since a message can come late, after the
-- turn has lapsed and the waiter has joined the line anew.
local function tell(waiter, number)
  redis.pcall('PUBLISH', waiter.channel, waiter.owner .. '|' .. waiter.look .. '|' .. number)
end

-- What lets go sends PEXPIRE first: a server whose memory is full refuses an LSET as the first write
-- of a script, and what is held must be freed there, too.

-- Gives the lock to who is first in line, for as long as it may take to confirm that it lives. The
-- grant takes its place, and moves up when the last one goes.
local function hand_over(last, waiter)
  local number = next_number(last)
  redis.call('PEXPIRE', KEYS[1], waiter.claim + last.kept)
  redis.call('LSET', KEYS[1], 1, text(waiter.owner, 'h', number, last.kept, waiter.holder))
  redis.call('LPOP', KEYS[1])
  tell(waiter, number)
end

-- Ends the last grant: the lock goes to who is first in line, or is free.
local function free(last)
  local waiter = first()
  if waiter then
    hand_over(last, waiter)
  else
    redis.call('PEXPIRE', KEYS[1], last.kept)
    redis.call('LSET', KEYS[1], 0, text(NOBODY, 'f', last.number, last.kept, ''))
  end
end

-- Makes sure that an attempt has nothing: neither the lock nor a place in line.
--
-- KEYS     as in grant.lua
-- ARGV[1]  owner id, or what those of its rounds begin with
--
-- Returns 1, or 0 if it had nothing.

local had = leave(ARGV[1])
local last = last_grant()
if last and last.state == 'h' and string.sub(last.owner, 1, #ARGV[1]) == ARGV[1] then
  free(last)
  had = true
end
return had and 1 or 0
