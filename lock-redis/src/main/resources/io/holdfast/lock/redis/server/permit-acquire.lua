-- Takes a permit if one is free for this attempt, else joins the line, if told to. Sent again, it
-- confirms what the attempt has; it may prolong that, and never shortens it.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
-- ARGV[2]  TTL (ms)
-- ARGV[3]  the time for which the number is kept after the grant (ms)
-- ARGV[4]  holder, as a text
-- ARGV[5]  the number of permits
-- And, unless it joins no line:
-- ARGV[6]  as ARGV[5] of acquire.lua
--
-- Returns {permit, number of the grant}; or {time left (ms), holder} of the grant that ends first;
-- or {permits} if the semaphore is in use with another number of them.

local owner, ttl, holder, permits = ARGV[1], tonumber(ARGV[2]), ARGV[4], tonumber(ARGV[5])
local sem = read()
if not sem then
  redis.call('RPUSH', KEYS[1], permits .. '|0|' .. ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ttl + ARGV[3])
  sem = {permits = permits, number = '0', kept = ARGV[3], granted = {}, line = {}}
end

local mine = grant_of(sem, owner)
if mine and mine.state == 'h' and mine.ends >= NOW then
  -- Never to an earlier time: a request that was sent twice can come late, after an extension. And
  -- always with a write, for WAIT; see acquire.lua.
  local ends = math.max(mine.ends, NOW + ttl)
  keep(sem, ends - NOW)
  redis.call('LSET', KEYS[1], mine.index,
    text(owner, 'h', mine.permit, ends, mine.number, mine.holder))
  return {mine.permit, tonumber(mine.number)}
end

-- A replica refuses this, as in acquire.lua; what follows need not write anything.
head(sem)
tidy(sem)
if sem.permits ~= permits then
  if sem.granted[1] or sem.line[1] then
    return {sem.permits}
  end
  sem.permits = permits
end
sem.kept = ARGV[3]

local got = serve(sem, owner, ttl)
if got then
  return got
end
local permit = free_permit(sem)
if permit then
  -- Nobody is in line any more.
  return give(sem, permit, owner, ttl, holder)
end

sem = read()
if ARGV[6] then
  local lasts, turn_poll_channel = string.match(ARGV[6], '^(%d+)|(.*)$')
  local place =
    table.concat({'w', owner, whole(NOW + lasts), turn_poll_channel, holder}, '|')
  local joined = false
  for _, waiter in ipairs(sem.line) do
    if waiter.owner == owner then
      redis.call('LSET', KEYS[1], waiter.index, place)
      joined = true
    end
  end
  if not joined then
    redis.call('RPUSH', KEYS[1], place)
  end
end
local soonest = sem.granted[1]
for _, grant in ipairs(sem.granted) do
  if grant.ends < soonest.ends then
    soonest = grant
  end
end
return {soonest.ends - NOW, soonest.holder}
