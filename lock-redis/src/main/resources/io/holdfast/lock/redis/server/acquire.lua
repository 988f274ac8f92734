-- Takes the lock if it is free and nobody stands in line before; else joins the line, if told to.
-- Sent again, it confirms what the attempt has, the lock or a place in line; it may prolong that,
-- and never shortens it.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id; those of the rounds of one attempt at a quorum begin alike, and rise
-- ARGV[2]  TTL (ms)
-- ARGV[3]  the time for which the number is kept after the grant (ms)
-- ARGV[4]  holder, as a text
-- And, unless it joins no line:
-- ARGV[5]  the time for which its place in line stays alive (ms) '|' turn: the TTL of a lock that
--          is handed over, until it is renewed (ms) '|' poll: the number of the attempt's poll
--          '|' the channel on which to tell of a hand-over; one argument, since few requests use it
--
-- Returns the number of the grant; or {time left (ms), holder} of who has the lock.

local ROUNDS = 24
local owner, ttl, holder = ARGV[1], tonumber(ARGV[2]), ARGV[4]
local last = last_grant()

if is_taken(last) and last.state == 'h' then
  if last.owner == owner then
    -- Never to an earlier time: a request that was sent twice can come late, after an extension.
    if redis.call('PEXPIRE', KEYS[1], ttl + last.kept, 'GT') == 0 then
      -- Something must be written: WAIT is about the last write on its own connection, and the
      -- grant may have been written on another, by a hand-over.
      redis.call('LSET', KEYS[1], 0, text(owner, 'h', last.number, last.kept, last.holder))
    end
    return tonumber(last.number)
  elseif string.sub(last.owner, 1, ROUNDS) == string.sub(owner, 1, ROUNDS) and last.owner < owner then
    -- An earlier round of the same attempt has it, and has not yet been given back.
    return grant(last, owner, ttl, ARGV[3], holder)
  end
end

if not is_taken(last) then
  local waiter = first()
  if not waiter or waiter.owner == owner then
    -- Even if nobody was found: its own place can stand behind many dead ones.
    leave(owner)
    return grant(last, owner, ttl, ARGV[3], holder)
  end
  if waiter.owner then
    hand_over(last, waiter)
    last = last_grant()
  else
    last.left = key_left() -- As long as it blocks at most.
  end
end

if ARGV[5] then
  local lasts, turn_poll_channel = string.match(ARGV[5], '^(%d+)|(.*)$')
  join(owner .. '|' .. string.format('%.0f', now_millis() + lasts) .. '|' .. turn_poll_channel
    .. '|' .. holder)
else
  -- Changes nothing, but a replica refuses it: only a server that takes writes knows the holder.
  redis.call('PEXPIRE', KEYS[1], 0, 'GT')
end
return {last.left, last.holder}
