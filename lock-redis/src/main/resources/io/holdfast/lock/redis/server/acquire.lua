-- Takes the lock if it is free for this attempt and nobody stands in line before; else joins the
-- line, if told to. Sent again, it confirms what the attempt has, the lock or a place in line; it
-- may prolong that, and never shortens it.
--
-- KEYS     as in key.lua
-- ARGV[1]  owner id; those of the rounds of one attempt at a quorum begin alike, and rise
-- ARGV[2]  TTL (ms)
-- ARGV[3]  the time for which the number is kept after the grant (ms)
-- ARGV[4]  holder, as a text
-- And, unless it wants the lock alone and joins no line:
-- ARGV[5]  the time for which its place in line stays alive (ms) '|' turn: the TTL of a lock that
--          is handed over, until it is renewed (ms) '|' poll: the number of the attempt's poll
--          '|' the channel on which to tell of a hand-over; one argument, since few requests use
--          it. Empty: it joins no line
-- ARGV[6]  the mode, if it wants to share the lock
--
-- Returns the number of the grant or, if it is shared, {permit, number}; {time left (ms), holder}
-- of one who has the lock; {permits} if the semaphore is in use with another number of them.

local ROUNDS = 24
local owner, ttl, kept, holder = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local mode = ARGV[6] or ALONE
local lock = read()

local function take_alone()
  local is_new = not lock
  lock = lock or {number = '0'}
  lock.owner, lock.state, lock.number, lock.kept, lock.holder =
    owner, 'h', next_number(lock), kept, holder
  if is_new then
    redis.call('RPUSH', KEYS[1], text(lock))
  else
    redis.call('LSET', KEYS[1], 0, text(lock))
  end
  redis.call('PEXPIRE', KEYS[1], ttl + kept)
  return tonumber(lock.number)
end

local function take_shared()
  local is_new = not lock
  lock = lock or {number = '0', shared = {}, moved = 0}
  lock.kept = kept
  local grant = share(lock, mode, 1, owner, ttl, holder)
  redis.call('LPUSH', KEYS[1], text(lock))
  if is_new then
    redis.call('LPUSH', KEYS[1], text(lock))
  end
  write(lock, grant) -- Over the first of these entries, or the one that was the first.
  serve(lock)
  return {grant.permit, tonumber(grant.number)}
end

local take = mode == ALONE and take_alone or take_shared

if not lock then
  return take()
end

if lock.state == 'h' and is_taken(lock) then
  if lock.owner == owner then
    -- Never to an earlier time: a request that was sent twice can come late, after an extension.
    if redis.call('PEXPIRE', KEYS[1], ttl + lock.kept, 'GT') == 0 then
      -- Something must be written: WAIT is about the last write on its own connection, and the
      -- grant may have been written on another, by a hand-over.
      redis.call('LSET', KEYS[1], 0, text(lock))
    end
    return tonumber(lock.number)
  elseif string.sub(lock.owner, 1, ROUNDS) == string.sub(owner, 1, ROUNDS)
    and lock.owner < owner then
    -- An earlier round of the same attempt has it, and has not yet been given back.
    return take()
  end
end

local mine = shared_of(lock, owner)
if mine and mine.state == 'h' and mine.ends >= lock.now then
  mine.ends = math.max(mine.ends, lock.now + ttl)
  write(lock, mine)
  return {mine.permit, tonumber(mine.number)}
end

tidy(lock)
local waiter = serve(lock, owner)
if lock.state == 's' and lock.holder ~= mode and mode ~= ALONE then
  return {tonumber(string.sub(lock.holder, 2))}
end
if (not waiter or waiter.owner == owner) and admits(lock, mode) then
  -- Even if nobody was found: its own place can stand behind many dead ones.
  leave(owner)
  return take()
end

if ARGV[5] and ARGV[5] ~= '' then
  local lasts, turn_poll_channel = string.match(ARGV[5], '^(%d+)|(.*)$')
  join(owner .. (mode == ALONE and '' or ':' .. mode) .. '|' .. now_millis() + lasts .. '|'
    .. turn_poll_channel .. '|' .. holder)
else
  -- Changes nothing, but a replica refuses it: only a server that takes writes knows the holder.
  redis.call('PEXPIRE', KEYS[1], 0, 'GT')
end

if not is_taken(lock) then
  return {key_left(), lock.holder} -- As long as an entry that can't be read blocks at most.
end
-- A permit is free when the first grant ends; a lock that readers have, when the last one does.
local left, of = lock.left, lock.holder
for _, grant in ipairs(lock.shared) do
  local grant_left = grant.ends - lock.now
  if mode == ALONE or mode == READER then
    of = grant_left == left and grant.holder or of
  elseif grant_left <= left then
    left, of = grant_left, grant.holder
  end
end
return {left, of}
