-- The functions of the scripts that may change who has the lock; put before each of them, after
-- key.lua and grants.lua. KEYS as there.

local PLACES_LOOKED_AT_MAX = 100
local NOBODY = '-'
local ALONE = ''
local READER = 'r'

local function is_taken(lock)
  return lock.left >= 0
end

local function text(lock)
  return table.concat({lock.owner, lock.state, lock.number, lock.kept, lock.holder}, '|')
end

-- The time, or one more than the last number if that is not below it.
local function next_number(lock)
  local number = time_now()
  if tonumber(lock.number) >= tonumber(number) then
    return string.format('%.0f', lock.number + 1)
  end
  return number
end

-- The first in line that still lives; those before it are dropped. Without an owner: it is of a
-- later version, and takes the lock by itself. Nil: there is none, or none among the first
-- PLACES_LOOKED_AT_MAX; a living one behind them is found at a later call.
local function first(lock)
  local now = now_millis()
  for _ = 1, PLACES_LOOKED_AT_MAX do
    local place = redis.call('LINDEX', KEYS[1], #lock.shared + 1)
    if not place then
      return nil
    end
    local owner, mode, alive, turn, poll, channel, holder =
      string.match(place, '^(%x+):?([rp]?%d*)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
    if not owner or tonumber(alive) > now then
      return {
        owner = owner, mode = mode, turn = tonumber(turn), poll = poll, channel = channel,
        holder = holder
      }
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

-- Tells a waiter the number of its grant and its permit, or 0 and 0 to have it poll. A waiter that
-- misses the message finds out at its next poll. The message repeats the poll of the place: it can
-- come late, after the grant has ended and the waiter has joined the line anew.
local function tell(waiter, number, permit)
  redis.pcall('PUBLISH', waiter.channel,
    table.concat({waiter.owner, waiter.poll, number, permit}, '|'))
end

-- The first permit that nobody has, or nil; 0 for a reader.
local function free_permit(lock, mode)
  if mode == READER then
    return 0
  end
  local taken = {}
  for _, grant in ipairs(lock.shared) do
    taken[grant.permit] = true
  end
  for permit = 0, string.sub(mode, 2) - 1 do
    if not taken[permit] then
      return permit
    end
  end
  return nil
end

-- Whether one with this mode may have the lock beside those who have it.
local function admits(lock, mode)
  return not is_taken(lock)
    or lock.state == 's' and lock.holder == mode and free_permit(lock, mode) ~= nil
end

-- Notes that an attempt has the lock, beside those with whom it shares it. Returns its grant, which
-- must be written yet, and the first entry.
local function share(lock, mode, index, owner, lasts, holder)
  lock.now = lock.now or now_millis()
  local grant = {
    owner = owner, state = 'h', permit = free_permit(lock, mode), ends = lock.now + lasts,
    number = next_number(lock), holder = holder
  }
  table.insert(lock.shared, index, grant)
  lock.owner, lock.state, lock.number, lock.holder = NOBODY, 's', grant.number, mode
  return grant
end

-- Functions that free the lock send PEXPIRE or LREM first; why, grants.lua says.

local function set_free(lock)
  lock.owner, lock.state, lock.holder, lock.left = NOBODY, 'f', '', -1
  redis.call('PEXPIRE', KEYS[1], lock.kept)
  redis.call('LSET', KEYS[1], 0, text(lock))
end

-- Gives the lock to the first in line alone, for its turn only: it may have died. The grant
-- replaces the place in line, and becomes the first entry when the last grant is dropped.
local function hand_over(lock, waiter)
  lock.owner, lock.state, lock.number, lock.holder, lock.left =
    waiter.owner, 'h', next_number(lock), waiter.holder, waiter.turn
  redis.call('PEXPIRE', KEYS[1], waiter.turn + lock.kept)
  redis.call('LSET', KEYS[1], 1, text(lock))
  redis.call('LPOP', KEYS[1])
  tell(waiter, lock.number, 0)
end

-- Lets the first in line share the lock, for its turn only. The grant replaces the place in line.
local function let_in(lock, waiter)
  local grant =
    share(lock, waiter.mode, #lock.shared + 1, waiter.owner, waiter.turn, waiter.holder)
  write(lock, grant)
  redis.call('LSET', KEYS[1], 0, text(lock))
  tell(waiter, grant.number, grant.permit)
end

-- Lets in those who stand first in line, as long as their modes allow it; but not "asking", which
-- is alive, and gets more than a turn. Returns the first who stays; nil: nobody, or somebody has
-- the lock alone.
local function serve(lock, asking)
  while lock.state == 's' or not is_taken(lock) do
    local waiter = first(lock)
    if not waiter or not waiter.owner or waiter.owner == asking
      or not admits(lock, waiter.mode) then
      return waiter
    elseif waiter.mode == ALONE then
      hand_over(lock, waiter)
    else
      let_in(lock, waiter)
    end
  end
  return nil
end

-- Drops the grants whose time is over from those that are shared, and that of an owner. If none is
-- left, the lock is free.
local function tidy(lock, unwanted)
  local standing = {}
  for _, grant in ipairs(lock.shared) do
    if grant.ends < lock.now or grant.owner == unwanted then
      redis.call('LREM', KEYS[1], 1, grant.entry)
    else
      standing[#standing + 1] = grant
    end
  end
  local dropped = #standing < #lock.shared
  lock.shared = standing
  if lock.state == 's' and not standing[1] then
    set_free(lock)
  elseif dropped then
    write(lock)
  end
end

-- The grant of this attempt, even if its time is over: the lock itself, if it had that alone.
local function grant_of(lock, owner)
  return lock and lock.owner == owner and lock or shared_of(lock, owner)
end

-- Ends a grant: the lock goes to the first in line, or is free for all, or for more.
local function free(lock, grant)
  if grant ~= lock then
    tidy(lock, grant.owner)
    serve(lock)
    return
  end
  lock.left = -1
  serve(lock)
  if not is_taken(lock) then
    set_free(lock)
  end
end

