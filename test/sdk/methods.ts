/**
 * Every method of the official client, by the family that tests it, or
 * by the reason why no family does. `methods.test.ts` compares
 * this table with the client itself, and each family's file with its row, so a
 * new version of the client cannot add an untested method.
 */
import { Redis } from "@upstash/redis";

/** A method of a namespace has its name as prefix: `json.get`. */
export type Method =
  | Extract<keyof Redis, string>
  | `json.${Extract<keyof Redis["json"], string>}`
  | `functions.${Extract<keyof Redis["functions"], string>}`;

export const methodsOfFamilies = {
  String: [
    ...(["append", "decr", "decrby", "get", "getdel", "getex", "getrange", "getset", "incr", "incrby"] as const),
    ...(["incrbyfloat", "mget", "mset", "msetnx", "psetex", "set", "setex", "setnx", "setrange", "strlen"] as const),
  ],
  Hash: [
    ...(["hdel", "hexists", "hexpire", "hexpireat", "hexpiretime", "hget", "hgetall", "hgetdel", "hgetex"] as const),
    ...(["hincrby", "hincrbyfloat", "hkeys", "hlen", "hmget", "hmset", "hpersist", "hpexpire"] as const),
    ...(["hpexpireat", "hpexpiretime", "hpttl", "hrandfield", "hscan", "hset", "hsetex", "hsetnx"] as const),
    ...(["hstrlen", "httl", "hvals"] as const),
  ],
  List: [
    ...(["lindex", "linsert", "llen", "lmove", "lmpop", "lpop", "lpos", "lpush", "lpushx", "lrange"] as const),
    ...(["lrem", "lset", "ltrim", "rpop", "rpush", "rpushx"] as const),
  ],
  Set: [
    ...(["sadd", "scard", "sdiff", "sdiffstore", "sinter", "sintercard", "sinterstore", "sismember"] as const),
    ...(["smembers", "smismember", "smove", "spop", "srandmember", "srem", "sscan", "sunion"] as const),
    ...(["sunionstore"] as const),
  ],
  "Sorted set": [
    ...(["zadd", "zcard", "zcount", "zdiffstore", "zincrby", "zinterstore", "zlexcount", "zmscore"] as const),
    ...(["zpopmax", "zpopmin", "zrange", "zrank", "zrem", "zremrangebylex", "zremrangebyrank"] as const),
    ...(["zremrangebyscore", "zrevrank", "zscan", "zscore", "zunion", "zunionstore"] as const),
  ],
  Stream: [
    ...(["xack", "xackdel", "xadd", "xautoclaim", "xclaim", "xdel", "xdelex", "xgroup", "xinfo", "xlen"] as const),
    ...(["xpending", "xrange", "xread", "xreadgroup", "xrevrange", "xtrim"] as const),
  ],
  Bitmap: ["bitcount", "bitfield", "bitop", "bitpos", "getbit", "setbit"],
  Geo: ["geoadd", "geodist", "geohash", "geopos", "geosearch", "geosearchstore"],
  HyperLogLog: ["pfadd", "pfcount", "pfmerge"],
  "Publish and subscribe": ["psubscribe", "publish", "subscribe"],
  JSON: [
    ...(["json.arrappend", "json.arrindex", "json.arrinsert", "json.arrlen", "json.arrpop", "json.arrtrim"] as const),
    ...(["json.clear", "json.del", "json.forget", "json.get", "json.merge", "json.mget", "json.mset"] as const),
    ...(["json.numincrby", "json.nummultby", "json.objkeys", "json.objlen", "json.resp", "json.set"] as const),
    ...(["json.strappend", "json.strlen", "json.toggle", "json.type"] as const),
  ],
  "Scripts and functions": [
    ...(["createScript", "eval", "evalRo", "evalsha", "evalshaRo", "scriptExists", "scriptFlush"] as const),
    ...(["scriptLoad", "functions.call", "functions.callRo", "functions.delete", "functions.flush"] as const),
    ...(["functions.list", "functions.load", "functions.stats"] as const),
  ],
  "Generic, server and connection": [
    ...(["copy", "del", "exec", "exists", "expire", "expireat", "keys", "persist", "pexpire", "pexpireat"] as const),
    ...(["pttl", "randomkey", "rename", "renamenx", "scan", "touch", "ttl", "type", "unlink"] as const),
    ...(["dbsize", "flushall", "flushdb", "time"] as const),
    ...(["clientSetinfo", "echo", "ping"] as const),
  ],
} as const satisfies Readonly<Record<string, readonly Method[]>>;

export type FamilyName = keyof typeof methodsOfFamilies;

/** Methods that send nothing, or only compose others; `requests.test.ts` calls those that are public. */
export const methodsOfTheClient: readonly string[] = ["addTelemetry", "autoPipeline", "multi", "pipeline", "use"];

/** Methods that return objects with methods of their own: `search.test.ts` tests those. */
export const methodsOfSearch: readonly string[] = ["search.alias", "search.createIndex", "search.index"];

/** Methods that only the hosted service supports. `methods.test.ts` checks that each is refused by name. */
export const methodsOfOthers: readonly (readonly [reason: string, methods: readonly string[]])[] = [
  ["vectors have their own area and client", ["vector.createIndex", "vector.index"]],
  [
    "neither the interface nor Redis has the type array",
    [
      ...["arcount", "ardel", "ardelrange", "arget", "argetrange", "argrep", "arinfo", "arinsert", "arlastitems"],
      ...["arlen", "armget", "armset", "arnext", "arop", "arring", "arscan", "arseek", "arset"],
    ],
  ],
];

/** Fields of a client that are not methods: its settings. */
const NO_METHODS: ReadonlySet<string> = new Set([
  ...["client", "constructor", "enableAutoPipelining", "enableTelemetry", "opts", "readYourWritesSyncToken"],
]);
const NAMESPACES: ReadonlySet<string> = new Set(["json", "functions", "search", "vector"]);

/** The names of all methods of the installed client; those of a namespace with its name as prefix. */
export function installedMethods(): readonly string[] {
  const redis = new Redis({ url: "http://unreachable.test", token: "none", enableAutoPipelining: false });
  const names = new Set<string>();
  for (let layer: object = redis; layer !== Object.prototype; layer = Object.getPrototypeOf(layer)) {
    for (const name of Object.getOwnPropertyNames(layer)) {
      if (NO_METHODS.has(name)) continue;
      const value: unknown = Reflect.get(redis, name);
      if (!NAMESPACES.has(name)) names.add(name);
      else for (const inner of Object.keys(value ?? {})) names.add(`${name}.${inner}`);
    }
  }
  return [...names];
}
