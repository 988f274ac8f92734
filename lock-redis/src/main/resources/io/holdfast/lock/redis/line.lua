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
    string.match(value, '^([%-%x]+)|(%a)|0?(%d+)|(%d+)|(.*)$')
  return {
    value = value,
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
    local owner, alive, ttl, claim, look, channel, holder =
      string.match(place, '^(%x+)|(%d+)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
    if owner and tonumber(alive) > now then
      return {
        owner = owner, reads = ttl == '0', claim = claim, look = look, channel = channel,
        holder = holder, place = place
      }
    end
    redis.call('LREM', KEYS[1], 1, place)
  end
  return nil
end

-- Brings a place between these two indexes up to date. Returns its index, or nil if it is not there.
local function update(place, from, to)
  local owner = string.sub(place, 1, 32)
  for i, other in ipairs(redis.call('LRANGE', KEYS[1], from, to)) do
    if string.sub(other, 1, 32) == owner then
      redis.call('LSET', KEYS[1], from + i - 1, place)
      return from + i - 1
    end
  end
  return nil
end

-- Joins the line, or brings the place there up to date; "line" is ARGV[5] of acquire.lua. The search
-- begins where the place was last, since those before it leave, and nobody passes it. Returns where it
-- is.
local function join(owner, ttl, holder, line)
  local was, lasts, claim_look_channel = string.match(line, '^(%d+)|(%d+)|(.*)$')
  local place = table.concat(
    {owner, string.format('%.0f', now_millis() + lasts), ttl, claim_look_channel, holder}, '|')
  was = tonumber(was)
  for to = was, 1, -PLACES_LOOKED_AT_MAX do
    local index = update(place, math.max(1, to - PLACES_LOOKED_AT_MAX + 1), to)
    if index then
      return index
    end
  end
  return update(place, was + 1, -1) or redis.call('RPUSH', KEYS[1], place) - 1
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

