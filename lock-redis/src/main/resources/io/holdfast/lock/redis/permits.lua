-- What the key of a semaphore is, and what its scripts share; it is put before each of them, after
-- line.lua and grants.lua.
--
-- KEYS[1] is a list, and all that there is of a semaphore, as grant.lua explains of a lock. Its first
-- element is
--   permits '|' number of the last grant '|' kept (ms) '|' what is granted, as in grants.lua
-- and behind it is the line, as in grant.lua.
--
-- A grant stands through the millisecond in which nothing is left: Redis' clock is read in whole ones,
-- and a part of the one in which it was granted was over by then.

-- All but the line, or nil if there is no key.
local function read()
  local value = redis.call('LINDEX', KEYS[1], 0)
  if not value then
    return nil
  end
  local permits, number, kept, granted = string.match(value, '^(%d+)|(%d+)|(%d+)|(.*)$')
  return {
    value = value,
    permits = tonumber(permits),
    number = number,
    kept = tonumber(kept),
    granted = grants_in(granted, redis.call('PTTL', KEYS[1]) - kept)
  }
end

local function write(sem)
  put(table.concat({sem.permits, sem.number, sem.kept, ''}, '|'), sem.kept, sem.granted)
end

-- Drops what is over, and this one; then "taken" tells which permits are.
local function tidy(sem, unwanted)
  sem.granted = standing(sem.granted, unwanted)
  sem.taken = {}
  for _, grant in ipairs(sem.granted) do
    sem.taken[grant.permit] = true
  end
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

local function give(sem, permit, owner, lasts, holder)
  local given = {
    owner = owner, state = 'h', permit = permit, left = tonumber(lasts), number = next_number(sem),
    holder = holder
  }
  sem.number = given.number
  sem.taken[permit] = true
  table.insert(sem.granted, given)
  return given
end

-- Gives what is free to those in line, the first first: for as long as it may take to confirm that
-- they live, but to this attempt, which asks just now, for that time. Returns what that one was given.
local function serve(sem, asking, lasts)
  local got
  local permit, waiter = free_permit(sem), first()
  while permit and waiter do
    redis.call('LREM', KEYS[1], 1, waiter.place)
    if waiter.owner == asking then
      got = give(sem, permit, asking, lasts, waiter.holder)
    else
      local given = give(sem, permit, waiter.owner, waiter.claim, waiter.holder)
      tell(waiter, given.number .. '|' .. permit)
    end
    permit, waiter = free_permit(sem), first()
  end
  return got
end

