-- Takes a permit if one is free for this attempt, else joins the line, if told to. To send it again
-- changes nothing but the time, which it never shortens: it confirms what the attempt has.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
-- ARGV[2]  TTL (ms)
-- ARGV[3]  for how long the number is kept after the grant (ms)
-- ARGV[4]  holder, for a human
-- ARGV[5]  how many permits there are
-- And, unless it joins no line:
-- ARGV[6]  as ARGV[5] of acquire.lua
--
-- Returns {permit, number of the grant}; or {time until a permit is free unless it is renewed (ms), a
-- holder, where its place in line is}; or {permits} if the semaphore is in use with another number of them.

local owner, ttl, holder, permits = ARGV[1], tonumber(ARGV[2]), ARGV[4], tonumber(ARGV[5])
local sem = read()
if not sem then
  redis.call('RPUSH', KEYS[1], table.concat({permits, 0, ARGV[3], ''}, '|'))
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  sem = read()
end

local mine = grant_of(sem.granted, owner)
if mine and mine.state == 'h' and mine.left >= 0 then
  -- Not back: a request that was sent twice can come late, when the lease has been extended. It always
  -- writes, for WAIT; see acquire.lua.
  mine.left = math.max(mine.left, ttl)
  write(sem)
  return {mine.permit, tonumber(mine.number)}
end

-- Tells apart a server that takes writes, and has the memory for them: what follows need not write
-- anything, or begins with what needs none.
redis.call('LSET', KEYS[1], 0, sem.value)
tidy(sem)
if sem.permits ~= permits then
  if sem.granted[1] or first() then
    return {sem.permits}
  end
  sem.permits = permits
end
sem.kept = tonumber(ARGV[3])

local got = serve(sem, owner, ttl)
local permit = not got and free_permit(sem)
if permit then
  -- Nobody is in line any more.
  got = give(sem, permit, owner, ttl, holder)
end
write(sem)
if got then
  return {got.permit, tonumber(got.number)}
end

local soonest = sem.granted[1]
for _, grant in ipairs(sem.granted) do
  if grant.left < soonest.left then
    soonest = grant
  end
end
return {soonest.left, soonest.holder, ARGV[6] and join(owner, ttl, holder, ARGV[6])}
