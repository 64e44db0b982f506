/**
 * Requests of `upstash/ratelimit-py` (70e1e41, 03024eb), by `upstash/redis-py`, whose answers are in base64: each method sends one
 * command, and a limit is always an EVAL with its script. The scripts here are our own, with the same commands, conversions,
 * comments and results; those of the newer version begin with a line of flags.
 *
 * It needs integers of a script, and of other commands texts that Python's `int` reads, or null for a key that does not exist.
 */
import type { ClientRow } from "./client-rows.ts";

export const ratelimitPython: readonly ClientRow[] = [
  {
    call: "FixedWindow.limit",
    request: "POST /",
    body: String.raw`["EVAL","#!lua flags=allow-key-locking\n    local cost = ARGV[2] -- of one request\n\n    local used = redis.call(\"INCRBY\", KEYS[1], cost)\n    if used == tonumber(cost) then\n    redis.call(\"PEXPIRE\", KEYS[1], ARGV[1])\n    end\n\n    return used\n    ",1,"upstash-ratelimit:user:49089600",36000,1]`,
    has: { result: 1 },
  },
  {
    call: "FixedWindow.limit of several",
    request: "POST /",
    body: String.raw`["EVAL","\n    local cost = ARGV[2]\n    return redis.call(\"INCRBY\", KEYS[1], cost)\n    ",1,"upstash-ratelimit:user:49089600",36000,3]`,
    has: { result: 4 },
  },
  {
    call: "FixedWindow.get_remaining",
    request: "POST /",
    body: '["GET","upstash-ratelimit:user:49089600"]',
    has: { result: "NA==" },
  },
  { call: "FixedWindow.get_remaining of none", request: "POST /", body: '["GET","none"]', has: { result: null } },
  {
    call: "SlidingWindow.limit",
    request: "POST /",
    body: String.raw`["EVAL","#!lua flags=allow-key-locking\n    local tokens = tonumber(ARGV[1]) -- per window\n    local now, window = ARGV[2], ARGV[3]\n    local current = redis.call(\"GET\", KEYS[1])\n    if current == false then\n        current = 0\n    end\n    local before = math.floor((1 - (now % window) / window) * (redis.call(\"GET\", KEYS[2]) or 0))\n    if before + current >= tokens then\n        return -1\n    end\n    local value = redis.call(\"INCRBY\", KEYS[1], ARGV[4])\n    redis.call(\"PEXPIRE\", KEYS[1], window * 2 + 1000)\n    return tokens - (value + before)\n    ",2,"sliding:49089601","upstash-ratelimit:user:49089600",6,1767225645000,36000,1]`,
    has: { result: 2 },
  },
  {
    call: "SlidingWindow.get_remaining",
    request: "POST /",
    body: '["MGET","sliding:49089601","none"]',
    has: { result: ["MQ==", null] },
  },
  { call: "the expiry of a window", request: "POST /", body: '["PTTL","sliding:49089601"]', has: { result: 73_000 } },
  {
    call: "TokenBucket.limit",
    request: "POST /",
    body: String.raw`["EVAL","#!lua flags=allow-key-locking\n    local now, cost = tonumber(ARGV[4]), tonumber(ARGV[5])\n            \n    local bucket = redis.call(\"HMGET\", KEYS[1], \"refilled_at\", \"tokens\")\n            \n    local at, tokens = now, tonumber(ARGV[1])\n    if bucket[1] ~= false then\n        at, tokens = tonumber(bucket[1]), tonumber(bucket[2])\n    end\n    if tokens < cost then\n        return {-1, at + ARGV[2]}\n    end\n    redis.call(\"HSET\", KEYS[1], \"refilled_at\", at, \"tokens\", tokens - cost)\n    redis.call(\"PEXPIRE\", KEYS[1], math.ceil(cost / tonumber(ARGV[3])) * tonumber(ARGV[2]))\n    return {tokens - cost, at + tonumber(ARGV[2])}\n    ",1,"bucket",10,86400000,10,1767225600123,8]`,
    has: { result: [2, 1_767_312_000_123] },
  },
  {
    call: "TokenBucket.get_remaining",
    request: "POST /",
    body: '["HMGET","bucket","refilled_at","tokens"]',
    has: { result: ["MTc2NzIyNTYwMDEyMw==", "Mg=="] },
  },
  {
    call: "TokenBucket.get_remaining of none",
    request: "POST /",
    body: '["HMGET","none","refilled_at","tokens"]',
    has: { result: [null, null] },
  },
  {
    call: "TokenBucket.get_reset",
    request: "POST /",
    body: '["HGET","bucket","refilled_at"]',
    has: { result: "MTc2NzIyNTYwMDEyMw==" },
  },
  { call: "the expiry of a bucket", request: "POST /", body: '["PTTL","bucket"]', has: { result: 86_400_000 } },
  {
    call: "a key that the script does not name",
    request: "POST /",
    body: String.raw`["EVAL","#!lua flags=allow-key-locking\n    return redis.call(\"GET\", \"other\")",1,"bucket"]`,
    status: 400,
    answer: { needs: { error: "text" } },
  },
];
