-- Grants that stand beside each other, as the permits of a semaphore. They are one text, in the order
-- of their numbers, one behind the other:
--   owner id '|' state '|' permit '|' before (ms) '|' number '|' length of the holder '|' holder
-- The state is 'h' (held) or 'r' (released, and a minimum hold keeps it taken).
--
-- The last of them to end stands while more is left to the key than what is "kept", as in grant.lua;
-- each other one ends so long "before" that. So all of them have time left, and no instant of a clock:
-- it is the same at whatever server the key is.

-- The grants in such a text, each with the time that is left to it (ms); "left" is that of the last.
local function grants_in(text, left)
  local grants, at = {}, 1
  while at <= #text do
    local owner, state, permit, before, number, length, from =
      string.match(text, '^(%x+)|(%a)|(%d+)|(%d+)|(%d+)|(%d+)|()', at)
    grants[#grants + 1] = {
      owner = owner, state = state, permit = tonumber(permit), left = left - before, number = number,
      holder = string.sub(text, from, from + length - 1)
    }
    at = from + length
  end
  return grants
end

local function grant_of(grants, owner)
  for _, grant in ipairs(grants) do
    if grant.owner == owner then
      return grant
    end
  end
  return nil
end

-- Those that stand, but this one's.
local function standing(grants, unwanted)
  local rest = {}
  for _, grant in ipairs(grants) do
    if grant.left >= 0 and grant.owner ~= unwanted then
      rest[#rest + 1] = grant
    end
  end
  return rest
end

-- Writes the first element: what comes before the grants, and these. First the time: a server whose
-- memory is full refuses an LSET as the first write of a script, and what is held must be renewed and
-- freed there, too.
local function put(head, kept, grants)
  local longest = 0
  for _, grant in ipairs(grants) do
    longest = math.max(longest, grant.left)
  end
  local texts = {head}
  for _, grant in ipairs(grants) do
    texts[#texts + 1] = table.concat({
      grant.owner, grant.state, grant.permit, longest - grant.left, grant.number, #grant.holder,
      grant.holder
    }, '|')
  end
  redis.call('PEXPIRE', KEYS[1], longest + kept)
  redis.call('LSET', KEYS[1], 0, table.concat(texts))
end

