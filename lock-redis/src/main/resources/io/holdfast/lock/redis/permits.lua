-- The key of a semaphore, and the functions of its scripts; put before each of them.
--
-- KEYS[1] is a list, and all that there is of a semaphore, as grant.lua explains of a lock.
--   First a header:
--     permits '|' number of the last grant '|' kept (ms)
--   Behind it, mixed, the grants, and the line in the order of joining:
--     'g|' owner id '|' state '|' permit '|' until (ms) '|' number '|' holder
--     'w|' owner id '|' alive until (ms) '|' claim (ms) '|' look '|' channel '|' holder
--   The state is 'h' (held) or 'r' (released, and a minimum hold keeps the permit taken).
--
-- A permit is taken through the millisecond "until": Redis' clock is read in whole ones, and a part of
-- the one in which it was granted was over by then.
--
-- The header is never dropped, so the list is never empty. The key outlives the grants by what is
-- "kept", and with it the number of the last grant.

local CLOCK = redis.call('TIME')
local NOW = CLOCK[1] * 1000 + math.floor(CLOCK[2] / 1000)

local function whole(number)
  return string.format('%.0f', number)
end

local function text(owner, state, permit, ends, number, holder)
  return table.concat({'g', owner, state, permit, whole(ends), number, holder}, '|')
end

-- All that the key has, or nil if there is none. The index is that in the list until something is
-- dropped.
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
      local owner, alive, claim, look, channel, holder =
        string.match(value, '^w|(%x+)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
      sem.line[#sem.line + 1] = {
        value = value, index = i - 1, owner = owner, alive = tonumber(alive), claim = tonumber(claim),
        look = look, channel = channel, holder = holder
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

-- Has the key outlive a grant of so many milliseconds. The first write of a script: a server whose
-- memory is full refuses one that adds to a key as the first, and what is held must be renewed and
-- freed there, too.
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

-- Drops what is over, and this one; then "taken" tells which permits are.
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
local function free(sem)
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

-- Tells a waiter the number and the permit that it was given, or 0 and 0 to have it look; see
-- line.lua.
local function tell(waiter, number, permit)
  redis.pcall('PUBLISH', waiter.channel,
    table.concat({waiter.owner, waiter.look, number, permit}, '|'))
end

-- Gives the free permits to those in line, in their order: for as long as it may take to confirm that
-- they live, but to this attempt, which asks just now, for the time "lasts". Returns what this one was
-- given.
local function serve(sem, asking, lasts)
  local got
  while sem.line[1] do
    local permit = free(sem)
    if not permit then
      break
    end
    local waiter = table.remove(sem.line, 1)
    drop(waiter)
    if waiter.owner == asking then
      got = give(sem, permit, asking, lasts, waiter.holder)
    else
      tell(waiter, whole(give(sem, permit, waiter.owner, waiter.claim, waiter.holder)[2]), permit)
    end
  end
  return got
end
