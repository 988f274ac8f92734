-- What the scripts share that have to do with the line; it is put before each of them, after
-- grant.lua. Keys as there.

local PLACES_LOOKED_AT_MAX = 100

local function now_micros()
  local clock = redis.call('TIME')
  return clock[1] * 1000000 + clock[2]
end

local function has(value, owner)
  return value and string.sub(value, 1, 32) == owner
end

local function is_released(value)
  return string.sub(value, 34, 34) == 'r'
end

local function number_of(value)
  return string.match(value, '^%x+|%a|(%d+)|')
end

-- Leaves the marks of a line with the grant that has the lock for so many milliseconds more.
local function mark_line(value, left)
  local state, number = string.sub(value, 34, 34), number_of(value)
  if state == 'w' or not number then
    return
  end
  if state == 'h' then
    redis.call('SET', KEYS[1], string.sub(value, 1, 33) .. 'w' .. string.sub(value, 35), 'KEEPTTL')
  end
  redis.call('SET', KEYS[2], number .. 'w', 'PX', left + KEEP_NUMBER_MILLIS)
end

local function leave(owner)
  redis.call('ZREM', KEYS[3], owner)
  redis.call('HDEL', KEYS[4], owner)
end

-- Gives the lock away, for px milliseconds, to an attempt that is not in line. Returns the number:
-- the time, or one more than the last one if that is not below it.
local function grant(owner, ttl, holder, px)
  local state, mark = 'h', ''
  if redis.call('EXISTS', KEYS[3]) == 1 then
    state, mark = 'w', 'w'
  end
  local number = time_now()
  local kept = ttl + KEEP_NUMBER_MILLIS
  local last = redis.call('SET', KEYS[2], number .. mark, 'PX', kept, 'GET')
  last = last and tonumber(string.match(last, '^%d+'))
  if last and last >= tonumber(number) then
    number = string.format('%.0f', last + 1)
    redis.call('SET', KEYS[2], number .. mark, 'PX', kept)
  end
  redis.call('SET', KEYS[1], owner .. '|' .. state .. '|' .. number .. '|' .. holder, 'PX', px)
  return tonumber(number)
end

-- The first in line that still lives, or nil; those before it are dropped.
local function first()
  for _ = 1, PLACES_LOOKED_AT_MAX do
    local owner = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
    if not owner then
      return nil
    end
    local place = redis.call('HGET', KEYS[4], owner)
    if place then
      local alive, ttl, claim, look, channel, holder =
        string.match(place, '^(%d+)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
      if tonumber(alive) * 1000 > now_micros() then
        return {
          owner = owner,
          ttl = tonumber(ttl),
          claim = tonumber(claim),
          look = look,
          channel = channel,
          holder = holder
        }
      end
    end
    leave(owner)
  end
  return nil
end

-- Tells a waiter the number of its grant, or 0: that it is to look. Whoever misses that finds out at
-- its next look. It says from which look the place was, since a message can come late, after the
-- turn has lapsed and the waiter has joined the line anew.
local function tell(waiter, number)
  redis.pcall('PUBLISH', waiter.channel,
    waiter.owner .. '|' .. waiter.look .. '|' .. string.format('%.0f', number))
end

-- Gives the lock to who is first in line, for as long as it may take to confirm that it lives.
local function hand_over(waiter)
  leave(waiter.owner)
  tell(waiter, grant(waiter.owner, waiter.ttl, waiter.holder, waiter.claim))
end

-- Ends the grant that has the lock: it goes to who is first in line, or is free.
local function free()
  local waiter = first()
  if waiter then
    hand_over(waiter)
  else
    redis.call('DEL', KEYS[1])
  end
end

