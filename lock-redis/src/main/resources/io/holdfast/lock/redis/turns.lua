-- Who has the lock next, readers and writers together; put before the scripts of a lock, after line.lua
-- and grants.lua. KEYS as in grant.lua.
--
-- While readers have the lock, the last grant is that of all of them together:
--   32 zeros '|s|0' number of the newest '|' kept (ms) '|' the readers, as in grants.lua
-- It stands for as long as one of them does. In line, a reader is told by a TTL of 0.
--
-- A script of a version that knew of no readers takes them for an owner that it does not know, with a
-- lock that stands. It also finds no grant with that number, because of the zero, or it would end all
-- of them for one. And it hands the lock to a reader as to any waiter: then that one has it alone, as
-- a writer would, until a script of readers comes with its owner id.

local READERS = string.rep('0', 32)

-- The readers that have the lock, whether their time is over or not; also this one, if it was handed
-- the lock alone.
local function readers_of(last, owner)
  if last and last.state == 's' then
    return grants_in(last.holder, last.left)
  elseif last and last.owner == owner then
    return {{
      owner = owner, state = last.state, permit = 0, left = last.left, number = last.number,
      holder = last.holder
    }}
  end
  return {}
end

-- For how long the lock is taken at most, unless that is extended, and a holder.
local function taken(last)
  return last.left, (standing(readers_of(last))[1] or last).holder
end

-- Adds a reader. Returns its number.
local function enter(last, readers, owner, lasts, holder)
  last.number = next_number(last)
  readers[#readers + 1] = {
    owner = owner, state = 'h', permit = 0, left = tonumber(lasts), number = last.number,
    holder = holder
  }
  return last.number
end

-- Adds all readers that are at the head of the line: for as long as it may take to confirm that they
-- live, but this attempt, which asks just now, for that time. Returns the number of that one's grant,
-- and the writer that is first in line then.
local function admit(last, readers, asking, lasts)
  local got
  local waiter = first()
  while waiter and waiter.reads do
    redis.call('LREM', KEYS[1], 1, waiter.place)
    if waiter.owner == asking then
      got = enter(last, readers, asking, lasts, waiter.holder)
    elseif not grant_of(readers, waiter.owner) then
      tell(waiter, enter(last, readers, waiter.owner, waiter.claim, waiter.holder))
    end
    waiter = first()
  end
  return got, waiter
end

-- What lets go sends PEXPIRE first: a server whose memory is full refuses an LSET as the first write
-- of a script, and what is held must be freed there, too.

-- Gives the lock to a writer that is first in line, for as long as it may take to confirm that it
-- lives. The grant takes its place, and moves up when the last one goes.
local function hand_over(last, waiter)
  local number = next_number(last)
  redis.call('PEXPIRE', KEYS[1], waiter.claim + last.kept)
  redis.call('LSET', KEYS[1], 1, text(waiter.owner, 'h', number, last.kept, waiter.holder))
  redis.call('LPOP', KEYS[1])
  tell(waiter, number)
end

-- Writes who has the lock, where no other writer does: these readers, or else the writer that is first
-- in line, or else nobody.
local function conclude(last, readers, writer)
  if readers[1] then
    put(text(READERS, 's', '0' .. last.number, last.kept, ''), last.kept, readers)
  elseif writer then
    hand_over(last, writer)
  else
    redis.call('PEXPIRE', KEYS[1], last.kept)
    redis.call('LSET', KEYS[1], 0, text(NOBODY, 'f', last.number, last.kept, ''))
  end
end

-- Ends the last grant but for these readers: the lock goes to who is first in line, or is free.
local function settle(last, readers)
  local _, writer = admit(last, readers)
  conclude(last, readers, writer)
end

