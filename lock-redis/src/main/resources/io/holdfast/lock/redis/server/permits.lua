-- The key of a semaphore, and the functions of its scripts; put before each of them.
--
-- KEYS[1] is a list that holds all of a semaphore; why, key.lua says.
--   First a header:
--     permits '|' number of the last grant '|' kept (ms)
--   Behind it, mixed, the grants, and the line in the order of joining:
--     'g|' owner id '|' state '|' permit '|' until (ms) '|' number '|' holder
--     'w|' owner id '|' alive until (ms) '|' turn (ms) '|' poll '|' channel '|' holder
--   The state is 'h' (held) or 'r' (released, and a minimum hold keeps the permit taken).
--
-- A permit is taken to the end of the millisecond "until": the clock is read in whole milliseconds,
-- so a part of the one in which the permit was granted may have been over.
--
-- The header is never dropped, so the list is never empty. The key outlives the grants by what is
-- "kept", so that the number of the last grant is not forgotten at once.

local CLOCK = redis.call('TIME')
local NOW = CLOCK[1] * 1000 + math.floor(CLOCK[2] / 1000)

local function whole(number)
  return string.format('%.0f', number)
end

local function text(owner, state, permit, ends, number, holder)
  return table.concat({'g', owner, state, permit, whole(ends), number, holder}, '|')
end

-- All that the key has, or nil if there is no key. "index" is the place in the list, until an entry
-- is dropped.
local function read()
  local all = redis.call('LRANGE', KEYS[1], 0, -1)
  if not all[1] then
    return nil
  end
  local permits, number, kept = string.match(all[1], '^(%d+)|(%d+)|(%d+)$')
  local sem = {permits = tonumber(permits), number = number, kept = kept, granted = {}, line = {}}
  for i = 2, #all do
    local value = all[i]
    if string.sub(value, 1, 1) == 'g' then
      local owner, state, permit, ends, grant, holder =
        string.match(value, '^g|(%x+)|(%a)|(%d+)|(%d+)|(%d+)|(.*)$')
      sem.granted[#sem.granted + 1] = {
        value = value, index = i - 1, owner = owner, state = state, permit = tonumber(permit),
        ends = tonumber(ends), number = grant, holder = holder
      }
    else
      local owner, alive, turn, poll, channel, holder =
        string.match(value, '^w|(%x+)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
      sem.line[#sem.line + 1] = {
        value = value, index = i - 1, owner = owner, alive = tonumber(alive), turn = tonumber(turn),
        poll = poll, channel = channel, holder = holder
      }
    end
  end
  return sem
end

-- The grant of this attempt, even if its time is over; nil if it has none.
local function grant_of(sem, owner)
  for _, grant in ipairs(sem and sem.granted or {}) do
    if grant.owner == owner then
      return grant
    end
  end
  return nil
end

-- Makes the key outlive a grant that ends so many milliseconds from now. Send this or a removal
-- first: a server whose memory is full refuses a write that can add to a key as the first of a
-- script, and what is held must be renewed and freed there, too.
local function keep(sem, millis)
  redis.call('PEXPIRE', KEYS[1], whole(millis + sem.kept), 'GT')
end

-- Writes the header. A server whose memory is full, or that takes no writes, refuses that.
local function head(sem)
  redis.call('LSET', KEYS[1], 0, table.concat({sem.permits, sem.number, sem.kept}, '|'))
end

local function drop(entry)
  redis.call('LREM', KEYS[1], 1, entry.value)
end

-- Drops what is over, and all of the unwanted owner; notes in "taken" which permits are taken.
local function tidy(sem, unwanted)
  local granted, line = {}, {}
  sem.taken = {}
  for _, grant in ipairs(sem.granted) do
    if grant.ends < NOW or grant.owner == unwanted then
      drop(grant)
    else
      granted[#granted + 1] = grant
      sem.taken[grant.permit] = true
    end
  end
  for _, waiter in ipairs(sem.line) do
    if waiter.alive <= NOW or waiter.owner == unwanted then
      drop(waiter)
    else
      line[#line + 1] = waiter
    end
  end
  sem.granted = granted
  sem.line = line
end

-- The first permit that is free, or nil.
local function free_permit(sem)
  for permit = 0, sem.permits - 1 do
    if not sem.taken[permit] then
      return permit
    end
  end
  return nil
end

-- Grants a permit; the number is the time in microseconds, or one more than the last if that is not
-- below it. Returns {permit, number}.
local function give(sem, permit, owner, lasts, holder)
  local number = CLOCK[1] .. string.sub('00000' .. CLOCK[2], -6)
  if tonumber(sem.number) >= tonumber(number) then
    number = whole(sem.number + 1)
  end
  sem.number = number
  sem.taken[permit] = true
  redis.call('RPUSH', KEYS[1], text(owner, 'h', permit, NOW + lasts, number, holder))
  head(sem)
  keep(sem, lasts)
  return {permit, tonumber(number)}
end

-- Tells a waiter the number and the permit that it was given, or 0 and 0 to have it poll; see
-- line.lua.
local function tell(waiter, number, permit)
  redis.pcall('PUBLISH', waiter.channel,
    table.concat({waiter.owner, waiter.poll, number, permit}, '|'))
end

-- Gives the free permits to those in line, in their order: to each for its turn only, since it may
-- have died, but to "asking", which is alive, for the time "lasts". Returns what "asking" was
-- given.
local function serve(sem, asking, lasts)
  local got
  while sem.line[1] do
    local permit = free_permit(sem)
    if not permit then
      break
    end
    local waiter = table.remove(sem.line, 1)
    drop(waiter)
    if waiter.owner == asking then
      got = give(sem, permit, asking, lasts, waiter.holder)
    else
      tell(waiter, whole(give(sem, permit, waiter.owner, waiter.turn, waiter.holder)[2]), permit)
    end
  end
  return got
end
