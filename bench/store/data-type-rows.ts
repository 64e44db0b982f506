/**
 * The rows of the data types: for each, how a value is filled, and
 * the timed command. Redis gets the same words, so randomness is seeded.
 */

import { sha1 } from "../../src/kernel/checksum/sha1.ts";
import { seededRandom } from "../../src/kernel/random.ts";

export type Words = readonly string[];

export interface DataTypeRow {
  readonly name: string;
  /** Commands that fill the value, as a share of N. */
  readonly share?: number;
  /** The `i`th of `count` commands that fill the value. */
  readonly fill: (i: number, count: number) => Words;
  /** True if each of these adds one element, whose size is reported. */
  readonly weighs?: boolean;
  /** The timed command, and its count; absent: filling is timed. */
  readonly command?: (i: number, count: number) => Words;
  readonly times?: number;
  /** True if redis-server lacks it: only ours is measured. */
  readonly isOursAlone?: boolean;
}

/** The number of parts in which redis-server's commands are timed. */
export const PARTS = 20;

/** Where a part of `times` commands begins and ends. */
export function partOf(times: number, part: number): { from: number; to: number } {
  return { from: Math.round((part * times) / PARTS), to: Math.round(((part + 1) * times) / PARTS) };
}

const random = seededRandom(1);
const any = (count: number): number => random.below(count);
const pad = (i: number): string => String(i).padStart(9, "0");
const score = (i: number): string => String((i * 2_654_435_761) % 4_294_967_296);
const longitude = (i: number): string => (((i * 7_919) % 360_000) / 1_000 - 180).toFixed(4);
const latitude = (i: number): string => (((i * 104_729) % 170_000) / 1_000 - 85).toFixed(4);

const zadd = (i: number): Words => ["ZADD", "zset", score(i), `member:${pad(i)}`];
const xadd = (i: number): Words => ["XADD", "stream", `${i + 1}-0`, "name", `value:${pad(i)}`];
const rpush = (i: number): Words => ["RPUSH", "list", `element:${pad(i)}`];
const sadd = (i: number): Words => ["SADD", "set", `member:${pad(i)}`];
const hset = (i: number): Words => ["HSET", "hash", `field:${pad(i)}`, `value:${i % 1_000}`];
const geoadd = (i: number): Words => ["GEOADD", "geo", longitude(i), latitude(i), `place:${pad(i)}`];
const document = (i: number): string =>
  `{"id":${i},"name":"name ${pad(i)}","tags":["one","two"],"price":{"amount":${i % 1_000}.5,"currency":"EUR"}}`;
const jsonSet = (i: number): Words => ["JSON.SET", `json:${pad(i)}`, "$", document(i)];
/** Two bitmaps of ten bits for each command, every tenth of them set. */
const setbit = (i: number, n: number): Words => ["SETBIT", i % 2 === 0 ? "bits" : "more", `${any(n * 10)}`, "1"];
/** A sliding window of requests, as limiters store it: five commands in a script. */
const LIMITER = `local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local count = redis.call('ZCARD', KEYS[1])
if count < limit then redis.call('ZADD', KEYS[1], now, ARGV[4]) end
redis.call('PEXPIRE', KEYS[1], window)
redis.call('INCR', KEYS[2])
return {count < limit and 1 or 0, limit - count}`;
const limiterWords = (i: number): Words => ["2", `user:${i % 1_000}`, "requests", `${i}`, "10000", "20", `${i}`];
const few = (n: number): Words => ["SADD", "few", `member:${pad(any(n))}`];

function range(name: string, key: string, start: number): Words {
  return [name, key, `${start}`, `${start + 99}`];
}

function somewhere(n: number): Words {
  const place = any(n);
  return [longitude(place), latitude(place)];
}

export const dataTypeRows: readonly DataTypeRow[] = [
  {
    name: "EVAL of a limiter, five commands",
    share: 0.001,
    fill: () => ["SCRIPT", "LOAD", LIMITER],
    command: (i) => ["EVAL", LIMITER, ...limiterWords(i)],
    times: 200_000,
  },
  {
    name: "EVALSHA of a limiter, five commands",
    share: 0.001,
    fill: () => ["SCRIPT", "LOAD", LIMITER],
    command: (i) => ["EVALSHA", sha1(LIMITER).toString("hex"), ...limiterWords(i)],
    times: 200_000,
  },
  { name: "SET, new keys", fill: (i) => ["SET", `key:${pad(i)}`, `value:${i % 1_000}`], weighs: true },
  {
    name: "SCAN, COUNT 1000",
    fill: (i) => ["SET", `key:${pad(i)}`, "value"],
    command: (i) => ["SCAN", `${i * 4_096}`, "COUNT", "1000"],
    times: 1_000,
  },
  { name: "HSET, new fields", fill: hset, weighs: true },
  { name: "HGET", fill: hset, command: (_, n) => ["HGET", "hash", `field:${pad(any(n))}`], times: 200_000 },
  { name: "RPUSH", fill: rpush, weighs: true },
  { name: "LPUSH", fill: (i) => ["LPUSH", "list", `element:${pad(i)}`] },
  { name: "LPOP", fill: rpush, command: () => ["LPOP", "list"], times: 500_000 },
  { name: "LRANGE of 100, front", fill: rpush, command: () => range("LRANGE", "list", 0), times: 20_000 },
  { name: "LRANGE of 100, middle", fill: rpush, command: (_, n) => range("LRANGE", "list", n >> 1), times: 20_000 },
  { name: "LINDEX, anywhere", fill: rpush, command: (_, n) => ["LINDEX", "list", `${any(n)}`], times: 50_000 },
  { name: "SADD, new members", fill: sadd, weighs: true },
  { name: "SISMEMBER", fill: sadd, command: (_, n) => ["SISMEMBER", "set", `member:${pad(any(n))}`], times: 200_000 },
  {
    name: "SINTER, 1,000 with N",
    fill: (i, n) => (i < n - 1_000 ? sadd(i) : few(n)),
    command: () => ["SINTER", "few", "set"],
    times: 1_000,
  },
  { name: "ZADD, new members", fill: zadd, weighs: true },
  { name: "ZRANK", fill: zadd, command: (_, n) => ["ZRANK", "zset", `member:${pad(any(n))}`], times: 200_000 },
  { name: "ZRANGE of 100", fill: zadd, command: (_, n) => range("ZRANGE", "zset", any(n - 100)), times: 20_000 },
  {
    name: "ZINCRBY",
    fill: zadd,
    command: (i, n) => ["ZINCRBY", "zset", score(i), `member:${pad(any(n))}`],
    times: 200_000,
  },
  { name: "ZPOPMIN", fill: zadd, command: () => ["ZPOPMIN", "zset"], times: 200_000 },
  { name: "XADD", fill: xadd, weighs: true },
  {
    name: "XADD, MAXLEN 1,000",
    fill: (i) => ["XADD", "stream", "MAXLEN", "1000", `${i + 1}-0`, "name", `value:${pad(i)}`],
  },
  {
    name: "XRANGE of 10",
    fill: xadd,
    command: (_, n) => ["XRANGE", "stream", `${1 + any(n)}`, "+", "COUNT", "10"],
    times: 50_000,
  },
  {
    name: "XREADGROUP of 10",
    fill: (i, n) => (i === n - 1 ? ["XGROUP", "CREATE", "stream", "group", "0"] : xadd(i)),
    command: () => ["XREADGROUP", "GROUP", "group", "one", "COUNT", "10", "STREAMS", "stream", ">"],
    times: 10_000,
  },
  {
    name: "XREAD of 10",
    fill: xadd,
    command: (_, n) => ["XREAD", "COUNT", "10", "STREAMS", "stream", `${1 + any(n)}`],
    times: 50_000,
  },
  {
    name: "XACK",
    fill: (i, n) => {
      if (i < n - 2) return xadd(i);
      return i === n - 2
        ? ["XGROUP", "CREATE", "stream", "group", "0"]
        : ["XREADGROUP", "GROUP", "group", "one", "COUNT", "200000", "STREAMS", "stream", ">"];
    },
    command: (i) => ["XACK", "stream", "group", `${i + 1}-0`],
    times: 200_000,
  },
  { name: "JSON.SET, new documents", share: 0.2, fill: jsonSet, weighs: true, isOursAlone: true },
  {
    name: "JSON.GET, whole",
    share: 0.1,
    fill: jsonSet,
    command: (_, n) => ["JSON.GET", `json:${pad(any(n))}`, "$"],
    times: 100_000,
    isOursAlone: true,
  },
  {
    name: "JSON.GET, one member",
    share: 0.1,
    fill: jsonSet,
    command: (_, n) => ["JSON.GET", `json:${pad(any(n))}`, "$.price.amount"],
    times: 100_000,
    isOursAlone: true,
  },
  {
    name: "JSON.SET, one member",
    share: 0.1,
    fill: jsonSet,
    command: (i, n) => ["JSON.SET", `json:${pad(any(n))}`, "$.price.amount", `${i}`],
    times: 100_000,
    isOursAlone: true,
  },
  {
    name: "JSON.NUMINCRBY",
    share: 0.1,
    fill: jsonSet,
    command: (_, n) => ["JSON.NUMINCRBY", `json:${pad(any(n))}`, "$.id", "1"],
    times: 100_000,
    isOursAlone: true,
  },
  {
    name: "JSON.ARRAPPEND",
    share: 0.1,
    fill: jsonSet,
    command: (_, n) => ["JSON.ARRAPPEND", `json:${pad(any(n))}`, "$.tags", '"three"'],
    times: 100_000,
    isOursAlone: true,
  },
  { name: "GEOADD", share: 0.1, fill: geoadd, weighs: true },
  {
    name: "GEOSEARCH, 500 km",
    share: 0.1,
    fill: geoadd,
    command: (_, n) => ["GEOSEARCH", "geo", "FROMLONLAT", ...somewhere(n), "BYRADIUS", "500", "km", "ASC"],
    times: 4_000,
  },
  // Short commands run for some hundred ms: in 60 ms, a few ticks of the processor's clock, results varied by half.
  // SETBIT for less than others, because more and more of its bits would be set before.
  { name: "SETBIT", share: 0.1, fill: setbit, command: setbit, times: 500_000 },
  {
    name: "GETBIT",
    share: 0.1,
    fill: setbit,
    command: (_, n) => ["GETBIT", "bits", `${any(n * 10)}`],
    times: 1_000_000,
  },
  { name: "BITCOUNT, all", share: 0.1, fill: setbit, command: () => ["BITCOUNT", "bits"], times: 2_000 },
  {
    name: "BITPOS, to the end",
    share: 0.1,
    fill: (_, n) => ["SETBIT", "bits", `${n * 10 - 1}`, "1"],
    command: () => ["BITPOS", "bits", "1"],
    times: 20_000,
  },
  { name: "BITOP AND", share: 0.1, fill: setbit, command: () => ["BITOP", "AND", "to", "bits", "more"], times: 5_000 },
  {
    name: "BITFIELD, one read",
    share: 0.1,
    fill: setbit,
    command: (_, n) => ["BITFIELD", "bits", "GET", "u16", `${any(n * 9)}`],
    times: 1_000_000,
  },
  {
    name: "BITFIELD, one sum",
    share: 0.1,
    fill: setbit,
    command: (i, n) => ["BITFIELD", "bits", "INCRBY", "u8", `#${any(n)}`, `${i % 50}`],
    times: 1_000_000,
  },
];
