-- The functions of the scripts that may change the line; put before each of them, after key.lua.
-- KEYS as there.

local PLACES_LOOKED_AT_MAX = 100
local NOBODY = '-'
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

-- The last grant, and for how long it still stands (ms; below zero: it does not); nil: none is
-- known. Redis counts whole milliseconds: at zero, a part of the last one can be left.
local function last_grant()
  local value = redis.call('LINDEX', KEYS[1], 0)
  if not value then
    return nil
  end
  local owner, state, number, kept, holder =
    string.match(value, '^([%-%x]+)|(%a)|(%d+)|(%d+)|(.*)$')
  if not owner then
    return {owner = '', state = '', number = '0', kept = 0, holder = value, left = key_left()}
  end
  return {
    owner = owner,
    state = state,
    number = number,
    kept = tonumber(kept),
    holder = holder,
    left = state == 'f' and -1 or redis.call('PTTL', KEYS[1]) - kept
  }
end

local function is_taken(last)
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

-- Gives the lock to an attempt that is not in line. Returns the number of the grant.
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

-- The first in line that still lives; those before it are dropped. Without an owner: it is of a
-- later version, and takes the lock by itself. Nil: there is none, or none among the first
-- PLACES_LOOKED_AT_MAX; a living one behind them is found at a later call.
local function first()
  local now = now_millis()
  for _ = 1, PLACES_LOOKED_AT_MAX do
    local place = redis.call('LINDEX', KEYS[1], 1)
    if not place then
      return nil
    end
    local owner, alive, turn, poll, channel, holder =
      string.match(place, '^(%x+)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
    if not owner or tonumber(alive) > now then
      return {owner = owner, turn = turn, poll = poll, channel = channel, holder = holder}
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
  local was_there = false
  for _, place in ipairs(redis.call('LRANGE', KEYS[1], 1, -1)) do
    if string.sub(place, 1, #owner) == owner then
      redis.call('LREM', KEYS[1], 1, place)
      was_there = true
    end
  end
  return was_there
end

-- Tells a waiter the number of its grant, or 0 to have it poll. A waiter that misses the message
-- finds out at its next poll. The message repeats the poll of the place: it can come late, after
-- the grant has ended and the waiter has joined the line anew. Its last part is the permit, here 0.
local function tell(waiter, number)
  redis.pcall('PUBLISH', waiter.channel,
    waiter.owner .. '|' .. waiter.poll .. '|' .. number .. '|0')
end

-- Functions that free the lock send PEXPIRE first: a server whose memory is full refuses an LSET as
-- the first write of a script, and a lock must be freed there, too.

-- Gives the lock to the first in line, for its turn only: it may have died. The grant replaces the
-- place in line, and becomes the first entry when the last grant is dropped.
local function hand_over(last, waiter)
  local number = next_number(last)
  redis.call('PEXPIRE', KEYS[1], waiter.turn + last.kept)
  redis.call('LSET', KEYS[1], 1, text(waiter.owner, 'h', number, last.kept, waiter.holder))
  redis.call('LPOP', KEYS[1])
  tell(waiter, number)
end

-- Ends the last grant: the lock goes to the first in line, or is free.
local function free(last)
  local waiter = first()
  if waiter and waiter.owner then
    hand_over(last, waiter)
  else
    redis.call('PEXPIRE', KEYS[1], last.kept)
    redis.call('LSET', KEYS[1], 0, text(NOBODY, 'f', last.number, last.kept, ''))
  end
end

