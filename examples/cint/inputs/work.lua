-- fannkuch, a sieve, text and tables, coroutines, and a small interpreter in the interpreter; the argument is how much.
local scale = tonumber(arg[1])

local function fannkuch(n)
  local p, q, s, sign, maxflips, sum = {}, {}, {}, 1, 0, 0
  for i = 1, n do p[i] = i; q[i] = i; s[i] = i end
  repeat
    local q0 = p[1]
    if q0 ~= 1 then
      for i = 2, n do q[i] = p[i] end
      local flips = 1
      while true do
        local qq = q[q0]
        if qq == 1 then sum = sum + sign * flips; if flips > maxflips then maxflips = flips end; break end
        q[q0] = q0
        if q0 >= 4 then local i, j = 2, q0 - 1; repeat q[i], q[j] = q[j], q[i]; i = i + 1; j = j - 1 until i >= j end
        q0 = qq; flips = flips + 1
      end
    end
    if sign == 1 then p[1], p[2] = p[2], p[1]; sign = -1
    else
      p[2], p[3] = p[3], p[2]; sign = 1
      for i = 3, n do
        local sx = s[i]
        if sx ~= 1 then s[i] = sx - 1; break end
        if i == n then return sum, maxflips end
        s[i] = i
        local t = p[1]; for j = 1, i do p[j] = p[j + 1] end; p[i + 1] = t
      end
    end
  until false
end

local function sieve(limit)
  local composite, primes = {}, 0
  for i = 2, limit do
    if not composite[i] then primes = primes + 1; for j = i * i, limit, i do composite[j] = true end end
  end
  return primes
end

local function words(n)
  local state, count, list = 1, {}, {}
  for i = 1, n do
    state = (state * 1103515245 + 12345) % 2147483648
    local word = string.format("%x", state // 65536 % 4096):reverse():upper()
    count[word] = (count[word] or 0) + 1
    list[#list + 1] = word .. i % 7
  end
  table.sort(list, function(a, b) return a:sub(-2) .. a < b:sub(-2) .. b end)
  local keys = {}
  for key in pairs(count) do keys[#keys + 1] = key end
  table.sort(keys)
  return #keys, count[keys[1]], list[1], list[#list], (table.concat(list, "", 1, 400):gsub("%d", ""):gsub("A+", "<%0>"):len())
end

local function streams(n)
  local function numbers() for i = 1, n do coroutine.yield(i) end end
  local function filter(source, f) return coroutine.wrap(function() for x in source do if f(x) then coroutine.yield(x * x) end end end) end
  local total = 0
  for x in filter(coroutine.wrap(numbers), function(x) return x % 3 ~= 1 end) do total = (total + x) % 1000003 end
  return total
end

local Account = {}
Account.__index = Account
Account.__add = function(a, b) return setmetatable({ sum = a.sum + b.sum }, Account) end
function Account:put(n) self.sum = (self.sum * 31 + n) & 0xffffff; return self end

local function objects(n)
  local a, b = setmetatable({ sum = 1 }, Account), setmetatable({ sum = 2 }, Account)
  for i = 1, n do a:put(i):put(b.sum); b = a + b; b.sum = b.sum % 65537 end
  return a.sum, b.sum
end

print(sieve(60000 * scale))
print(words(12000 * scale))
print(streams(60000 * scale))
print(objects(80000 * scale))
for _ = 1, scale do fannkuch(7) end
print(fannkuch(scale < 1 and 6 or 8))
