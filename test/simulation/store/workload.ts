/**
 * Requests of random clients to a store: commands on every kind of record, on
 * few keys so that they meet, with values from a few bytes to a few pages, and
 * with expiries so short that keys expire during a run.
 */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { CommandRequest } from "../../../src/store/command-facts.ts";

/** One client request, as the entry of a database takes it. */
export type WorkloadRequest =
  | { readonly kind: "command"; readonly command: CommandRequest }
  | { readonly kind: "pipeline" | "transaction"; readonly commands: readonly CommandRequest[] };

const STRINGS: readonly Bytes[] = ["a", "b", "c", "counter", "\x00\xff"];
const HASHES: readonly Bytes[] = ["h", "g"];
const FIELDS: readonly Bytes[] = ["x", "y", "z"];
const LIFE_MS_MAX = 3_000;
/** Some pages: such a value can be torn in more ways than a short one. */
const LONG_BYTES_MAX = 10_000;

export class Workload {
  readonly #random: Random;
  #valueCount = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  request(): WorkloadRequest {
    const kind = this.#random.below(10);
    if (kind < 6) return { kind: "command", command: this.#command() };
    const commands = Array.from({ length: 2 + this.#random.below(3) }, () => this.#command());
    return { kind: kind < 9 ? "transaction" : "pipeline", commands };
  }

  #command(): CommandRequest {
    const random = this.#random;
    const pick = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
    return pick(commandMakers)({
      key: () => pick(STRINGS),
      hash: () => pick(HASHES),
      field: () => pick(FIELDS),
      value: () => this.#value(),
      life: () => `${1 + random.below(LIFE_MS_MAX)}`,
      offset: () => `${random.below(40)}`,
    });
  }

  /** A value that differs from all others, so that an old one never passes for a new one. */
  #value(): Bytes {
    this.#valueCount += 1;
    const random = this.#random;
    const length = random.below(8) === 0 ? random.below(LONG_BYTES_MAX) : random.below(30);
    return `${this.#valueCount}:`.padEnd(length, "0123456789abcdef");
  }
}

const TWO_WRITES: Bytes = "redis.call('SET', KEYS[1], ARGV[1]) return redis.pcall('INCR', KEYS[2])";

function library(name: Bytes, answer: Bytes): Bytes {
  return `#!lua name=${name}\nredis.register_function('${name}', function() return '${answer}' end)`;
}

interface Draws {
  key(): Bytes;
  hash(): Bytes;
  field(): Bytes;
  value(): Bytes;
  /** Milliseconds. */
  life(): Bytes;
  offset(): Bytes;
}

const commandMakers: readonly ((draw: Draws) => CommandRequest)[] = [
  ({ key, value }) => ["SET", key(), value()],
  ({ key, value }) => ["SET", key(), value()],
  ({ key, value, life }) => ["SET", key(), value(), "PX", life()],
  ({ key, value }) => ["SET", key(), value(), "KEEPTTL"],
  ({ key, value }) => ["APPEND", key(), value()],
  ({ key, value, offset }) => ["SETRANGE", key(), offset(), value()],
  () => ["INCR", "counter"],
  () => ["INCR", "counter"],
  ({ key }) => ["DEL", key()],
  ({ key }) => ["GETDEL", key()],
  ({ key, life }) => ["PEXPIRE", key(), life()],
  ({ key }) => ["PERSIST", key()],
  ({ key }) => ["RENAME", key(), key()],
  ({ key }) => ["COPY", key(), key(), "REPLACE"],
  ({ hash, field, value }) => ["ACL", "SETUSER", hash(), "reset", "on", `>${value()}`, `~${field()}*`, "+@read"],
  ({ hash }) => ["ACL", "DELUSER", hash()],
  ({ hash, field, value }) => ["HSET", hash(), field(), value()],
  ({ hash, field, value }) => ["HSET", hash(), field(), value(), field(), value()],
  ({ hash, field }) => ["HDEL", hash(), field()],
  ({ hash, field, life }) => ["HPEXPIRE", hash(), life(), "FIELDS", "1", field()],
  ({ hash, field }) => ["HPERSIST", hash(), "FIELDS", "1", field()],
  ({ hash, life }) => ["PEXPIRE", hash(), life()],
  ({ hash }) => ["COPY", hash(), hash(), "REPLACE"],
  ({ field }) => ["SADD", "set", field(), field()],
  () => ["SPOP", "set"],
  ({ field }) => ["SREM", "set", field()],
  ({ field }) => ["SMOVE", "set", "other set", field()],
  () => ["SUNIONSTORE", "other set", "set", "other set"],
  ({ field, offset }) => ["ZADD", "sorted set", offset(), field(), offset(), field()],
  ({ field, offset }) => ["ZINCRBY", "sorted set", offset(), field()],
  () => ["ZPOPMIN", "sorted set"],
  () => ["ZREMRANGEBYRANK", "sorted set", "1", "1"],
  ({ value }) => ["LPUSH", "list", value(), value()],
  ({ value }) => ["RPUSH", "list", value()],
  () => ["LPOP", "list"],
  () => ["LMOVE", "list", "other list", "RIGHT", "LEFT"],
  ({ value, offset }) => ["LSET", "list", offset(), value()],
  () => ["LTRIM", "other list", "0", "5"],
  ({ field, value }) => ["XADD", "stream", "*", field(), value()],
  ({ value }) => ["XADD", "stream", "MAXLEN", "20", "*", "field", value()],
  () => ["XGROUP", "CREATE", "stream", "group", "0", "MKSTREAM"],
  ({ field }) => ["XREADGROUP", "GROUP", "group", field(), "COUNT", "3", "STREAMS", "stream", ">"],
  ({ field }) => ["XREADGROUP", "GROUP", "group", field(), "COUNT", "1", "NOACK", "STREAMS", "stream", ">"],
  ({ field }) => ["XREADGROUP", "GROUP", "group", field(), "COUNT", "2", "CLAIM", "10", "STREAMS", "stream", ">"],
  ({ field }) => ["XAUTOCLAIM", "stream", "group", field(), "0", "-", "COUNT", "2"],
  () => ["XTRIM", "stream", "MAXLEN", "5", "DELREF"],
  ({ key, value }) => ["PFADD", `hyperloglog ${key()}`, value()],
  ({ value, field }) => ["JSON.SET", "json", "$", `{"${field()}":"${value()}","list":[{},1]}`],
  ({ value, field }) => ["JSON.MERGE", "json", "$", `{"list":["${value()}"],"${field()}":null}`],
  ({ value }) => ["JSON.ARRINSERT", "json", "$.list", "0", `"${value()}"`],
  ({ field }) => ["JSON.DEL", "json", `$..${field()}`],
  ({ hash, field }) => ["SEARCH.CREATE", "index", "ON", "HASH", "PREFIX", "1", hash(), "SCHEMA", field(), "KEYWORD"],
  () => ["SEARCH.DROP", "index"],
  ({ field }) => ["SEARCH.ALIASADD", field(), "index"],
  ({ field }) => ["SEARCH.ALIASDEL", field()],
  // Not alone: after a start it would wait for its index.
  () => ["EVAL_RO", "return redis.pcall('SEARCH.COUNT', 'index', '{}')", "0"],
  ({ field, value }) => ["FUNCTION", "LOAD", "REPLACE", library(field(), value())],
  ({ field }) => ["FUNCTION", "DELETE", field()],
  ({ key, value }) => ["EVAL", TWO_WRITES, "2", key(), "counter", value()],
  ({ key }) => ["GET", key()],
  ({ key }) => ["GET", key()],
  ({ hash }) => ["HGETALL", hash()],
  () => ["DBSIZE"],
  () => ["FLUSHDB"],
];
