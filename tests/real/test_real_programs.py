"""Thirty layouts of programs that people use: all verified, all different, all giving stock's answers."""

import subprocess

import pytest

SEEDS = 30
LUA = """\
local words, count = {}, {}
for i = 1, 400 do
  local w = string.format("%x", (i * 2654435761) % 4096):rep(1 + i % 3)
  words[#words + 1] = w
  count[w:sub(1, 1)] = (count[w:sub(1, 1)] or 0) + #w
end
table.sort(words, function(a, b) return a:reverse() < b:reverse() end)
local function gen(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i * i) end end) end
local total = 0
for square in gen(300) do total = total + square end
local keys = {}
for k in pairs(count) do keys[#keys + 1] = k end
table.sort(keys)
for _, k in ipairs(keys) do io.write(k, "=", count[k], " ") end
local mt = setmetatable({}, {__index = function(t, k) return k .. "?" end, __call = function(self, x) return x // 3, x % 3, x ~ 5 end})
print(total, mt.missing, mt(1000))
for i = 1, 2000 do local t = {i, {i}, function() return i end} end
collectgarbage()
print(pcall(error, {code = 7}), select("#", string.byte(words[1], 1, -1)), utf8.char(228, 8364), string.pack("<i4", 77):byte(1, -1))
print(table.concat(words, ",", 1, 20), ("x"):rep(3, "-"), tostring(2^53), 7 // 2.0, math.tointeger(3.0), string.format("%q", 1 / 3))
print(os.time({year = 2020, month = 1, day = 1, hour = 12}) > 0, #arg, load("return 1 + 1")(), string.find("a.b", ".", 1, true))
"""


def answers(document, ask):
    """What each binary answers, by layout."""
    return {binary["seed"]: ask(binary["path"]) for binary in document["binaries"]}


def assert_all_verified_and_different(document):
    seeds = [binary for binary in document["binaries"] if isinstance(binary["seed"], int)]
    assert document["failures"] == []
    assert len(seeds) == SEEDS
    assert all(binary["verified"]["tau_request"] == 1.0 for binary in seeds)
    assert len({binary["text_sha256"] for binary in seeds}) == SEEDS


@pytest.mark.hour
@pytest.mark.slow
def test_bzip2(build_layouts, toolchain, tmp_path):
    """bzip2 compresses and restores a real file alike in every layout."""
    document = build_layouts("bzip2", toolchain, commands=["make -j{jobs} bzip2"], artefact="bzip2", seeds=SEEDS)
    text = b"".join(path.read_bytes() for path in sorted((tmp_path / "source").rglob("*.[ch]")))

    def ask(path):
        packed = [
            subprocess.run([path, *o], input=text, capture_output=True, check=True).stdout
            for o in (["-9"], ["-1", "-s"])
        ]
        restored = subprocess.run([path, "-d", "-s"], input=packed[0], capture_output=True, check=True).stdout
        broken = subprocess.run([path, "-t"], input=packed[0][:-9], capture_output=True)
        return packed, restored == text, broken.returncode

    found = answers(document, ask)

    assert_all_verified_and_different(document)
    assert found["stock"][1:] == (True, 2)
    assert all(answer == found["stock"] for answer in found.values())


@pytest.mark.slow
def test_lua(build_layouts, toolchain, tmp_path):
    """The Lua interpreter answers a script that visits its library alike in every layout."""
    document = build_layouts(
        "lua5.4", toolchain, commands=["make -C src -j{jobs} linux"], artefact="src/lua", seeds=SEEDS
    )
    script = tmp_path / "visit.lua"
    script.write_text(LUA)

    def ask(path):
        return subprocess.run([path, str(script)], capture_output=True, check=True).stdout

    found = answers(document, ask)

    assert_all_verified_and_different(document)
    assert b"9045050\tmissing?\t333\t1\t1005" in found["stock"]
    assert all(answer == found["stock"] for answer in found.values())


@pytest.mark.slow
def test_gnugo(build_layouts, toolchain):
    """GNU Go (90,000 lines, four archives) generates the same moves in every layout."""
    commands = ['./configure --without-curses --without-readline CFLAGS="-g -O2 -fcommon"', "make -j{jobs}"]
    document = build_layouts("gnugo", toolchain, commands=commands, artefact="interface/gnugo", seeds=SEEDS)
    moves = b"boardsize 9\nplay black E5\nreg_genmove white\nplay white C5\nreg_genmove black\nestimate_score\nquit\n"

    def ask(path):
        command = [path, "--mode", "gtp", "--seed", "1", "--level", "1"]
        return subprocess.run(command, input=moves, capture_output=True, check=True).stdout

    found = answers(document, ask)

    assert_all_verified_and_different(document)
    assert found["stock"].count(b"=") >= 7
    assert all(answer == found["stock"] for answer in found.values())
