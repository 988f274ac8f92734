-- Makes sure that an attempt has nothing: neither a permit nor a place in line.
--
-- KEYS     as in permits.lua
-- ARGV[1]  owner id
--
-- Returns 1, or 0 if it had nothing.

local sem = read()
local had = false
for _, grant in ipairs(sem and sem.granted or {}) do
  had = had or grant.owner == ARGV[1] and grant.state == 'h'
end
for _, waiter in ipairs(sem and sem.line or {}) do
  had = had or waiter.owner == ARGV[1]
end
if not had then
  return 0
end
tidy(sem, ARGV[1])
serve(sem)
return 1
