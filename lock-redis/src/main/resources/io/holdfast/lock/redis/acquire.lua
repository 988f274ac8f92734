-- Takes the lock if it is free and nobody stands in line before; else joins the line, if told to.
-- To send it again changes nothing but the time, which it never shortens: it confirms what the attempt
-- has, lock or place.
--
-- KEYS     as in grant.lua
-- ARGV[1]  owner id
-- ARGV[2]  TTL (ms)
-- ARGV[3]  holder, for a human
-- And, unless it joins no line:
-- ARGV[4]  for how long to keep a place in line alive (ms) '|' for how long the lock may wait for this
--          attempt to confirm it when it is handed over (ms) '|' which look of the attempt this is
--          '|' the channel on which to tell of that; all in one, since it is hardly ever looked at
--
-- Returns the number of the grant; or {time left (ms), holder} of who has the lock.

local owner, ttl, holder = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local value = redis.call('GET', KEYS[1])

if has(value, owner) and not is_released(value) then
  -- Not back: a request that was sent twice can come late, when the lease has been extended.
  redis.call('PEXPIRE', KEYS[1], ttl, 'GT')
  redis.call('PEXPIRE', KEYS[2], ttl + KEEP_NUMBER_MILLIS, 'GT')
  return tonumber(number_of(value))
end

if not value then
  local waiter = first()
  if not waiter then
    return grant(owner, ttl, holder, ttl)
  end
  if waiter.owner == owner then
    leave(owner)
    return grant(owner, ttl, holder, ttl)
  end
  hand_over(waiter)
  value = redis.call('GET', KEYS[1])
end

local left = redis.call('PTTL', KEYS[1])
if ARGV[4] then
  local place, claim_look_channel = string.match(ARGV[4], '^(%d+)|(.*)$')
  local now = now_micros()
  redis.call('ZADD', KEYS[3], 'NX', now, owner)
  redis.call('HSET', KEYS[4], owner, string.format('%.0f', now / 1000 + place) .. '|' .. ARGV[2]
    .. '|' .. claim_look_channel .. '|' .. holder)
  redis.call('PEXPIRE', KEYS[3], place)
  redis.call('PEXPIRE', KEYS[4], place)
  mark_line(value, left)
end
return {left, string.match(value, '^%x+|%a|%d+|(.*)$') or ''}
