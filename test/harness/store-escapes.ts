/**
 * Command lines with which a read-only client could try to write, to read
 * foreign data, or to administer (threats A-04), and every way to send a
 * line over HTTP. Required: none succeeds without the permission.
 */
import type { SendOptions, TestReply, TestServer } from "./server.ts";

export interface Escape {
  /** The command and its arguments; keys have the prefix `app:`. */
  readonly words: readonly string[];
  /** In Redis' category @read: refused to the read-only token, and to a user only if keys or patterns require it. */
  readonly isRead?: true;
}

const writes = `
  SET app:k x | SET app:k x GET | SETNX app:new x | MSET app:k x | MSETNX app:new x | APPEND app:k x
  SETRANGE app:k 0 x | SETEX app:k 1 x | PSETEX app:k 1 x
  INCR app:n | INCRBY app:n 1 | INCRBYFLOAT app:n 1 | DECR app:n | DECRBY app:n 1
  GETDEL app:k | GETEX app:k | GETEX app:k PERSIST | GETEX app:k EX 1 | GETSET app:k x
  DEL app:k | DELEX app:k | UNLINK app:k | EXPIRE app:k 1 | PEXPIREAT app:k 1 | PERSIST app:k
  RENAME app:k app:k2 | RENAMENX app:k app:k2 | COPY app:k app:k2 | MOVE app:k 1 | RESTORE app:new 0 x
  SETBIT app:k 0 1 | BITOP NOT app:d app:k | BITFIELD app:k SET u8 0 1 | BITFIELD app:k GET u8 0
  PFADD app:hll a | PFMERGE app:hll app:k
  HSET app:h f x | HSETNX app:h g x | HMSET app:h f x | HDEL app:h f | HINCRBY app:h n 1 | HINCRBYFLOAT app:h n 1
  HEXPIRE app:h 1 FIELDS 1 f | HPERSIST app:h FIELDS 1 f | HGETDEL app:h FIELDS 1 f
  HGETEX app:h PERSIST FIELDS 1 f | HSETEX app:h FIELDS 1 f x
  LPUSH app:l x | LPOP app:l | LMOVE app:a app:b LEFT LEFT | RPOPLPUSH app:a app:b | LMPOP 1 app:l LEFT | LTRIM app:l 0 0
  SADD app:s x | SPOP app:s | SMOVE app:s app:t x | SINTERSTORE app:d app:s | SUNIONSTORE app:d app:s
  ZADD app:z 1 a | ZADD app:z INCR 1 a | ZPOPMIN app:z | ZMPOP 1 app:z MIN | ZRANGESTORE app:d app:z 0 -1
  ZUNIONSTORE app:d 1 app:z | ZREMRANGEBYRANK app:z 0 -1
  GEOADD app:g 0 0 a | GEOSEARCHSTORE app:d app:g FROMLONLAT 0 0 BYRADIUS 1 km
  GEORADIUS app:g 0 0 1 km | GEORADIUS app:g 0 0 1 km STORE app:d | GEORADIUSBYMEMBER app:g a 1 km STOREDIST app:d
  SORT app:k | SORT app:k STORE app:d
  XADD app:x * f v | XTRIM app:x MAXLEN 0 | XREADGROUP GROUP g c STREAMS app:x > | XAUTOCLAIM app:x g c 0 0
  XCLAIM app:x g c 0 0-1 | XACK app:x g 0-1 | XGROUP CREATE app:x g $ MKSTREAM | XSETID app:x 1-1
  JSON.SET app:j $ 1 | JSON.DEL app:j | JSON.MERGE app:j $ 1 | JSON.NUMINCRBY app:j $ 1 | JSON.ARRPOP app:j
  FLUSHALL | FLUSHDB | PUBLISH app:c m | WAIT 0 0 | SWAPDB 0 1 | INFO | COMMAND | COMMAND COUNT
  FCALL f 0 | FCALL_RO f 0 | FUNCTION LOAD x | FUNCTION FLUSH | FUNCTION LIST
  SCRIPT LOAD x | SCRIPT FLUSH | SCRIPT EXISTS x | EVALSHA 0 0 | EVALSHA_RO 0 0
  SUBSCRIBE app:c | PSUBSCRIBE app:* | SSUBSCRIBE app:c | MONITOR | PUBSUB CHANNELS | PUBSUB NUMPAT
  CONFIG GET * | CONFIG SET maxmemory 1 | CONFIG RESETSTAT
  ACL LIST | ACL USERS | ACL GETUSER default | ACL SETUSER me on +@all ~* | ACL DELUSER me | ACL LOG | ACL CAT
  ACL RESTTOKEN default x | ACL GENTOKEN me | ACL SAVE | ACL LOAD
  CLIENT LIST | CLIENT KILL 127.0.0.1:1 | CLIENT ID | CLIENT NO-EVICT on | AUTH default x | HELLO 3 AUTH default x
  SELECT 0 | RESET | QUIT | MULTI | EXEC | WATCH app:k
  DEBUG SLEEP 0 | DEBUG OBJECT app:k | MIGRATE h 1 app:k 0 1 | REPLICAOF NO ONE | SLAVEOF NO ONE | PSYNC x 1 | SYNC
  SHUTDOWN | SAVE | BGSAVE | BGREWRITEAOF | LASTSAVE | MODULE LIST | MODULE LOAD /x | CLUSTER INFO | FAILOVER
  SLOWLOG GET | LATENCY DOCTOR`;

/** Refused to the read-only token because they disclose unnamed keys, or the encoding of keys. */
const powerfulReads = `
  KEYS * | SCAN 0 | RANDOMKEY | OBJECT ENCODING app:k | OBJECT FREQ app:k | DUMP app:k | MEMORY USAGE app:k
  SORT_RO app:k BY w_* | SORT_RO app:k GET w_*`;

function linesOf(text: string): string[][] {
  return text
    .trim()
    .split(/\s*[|\n]\s*/)
    .map((line) => line.split(" "));
}

export const escapes: readonly Escape[] = [
  ...linesOf(writes).map((words) => ({ words })),
  ...linesOf(powerfulReads).map((words) => ({ words, isRead: true as const })),
  { words: ["EVAL", "return 1", "0"] },
  { words: ["EVAL", "return redis.call('GET', KEYS[1])", "1", "app:k"] },
  { words: ["EVAL_RO", "return redis.call('DEL', 'app:k')", "0"] },
  { words: ["", "app:k", "x"] },
];

/** Spellings of a name: those that the store accepts, and similar ones. */
export const spellings: readonly (readonly [spelling: string, write: (name: string) => string])[] = [
  ["upper case", (name) => name.toUpperCase()],
  ["lower case", (name) => name.toLowerCase()],
  [
    "mixed case",
    (name) => name.replace(/[a-z]/gi, (letter, at: number) => (at % 2 === 0 ? letter : letter.toLowerCase())),
  ],
  ["a NUL after", (name) => `${name}\0`],
  ["a NUL inside", (name) => `${name.slice(0, 1)}\0${name.slice(1)}`],
  ["a space after", (name) => `${name} `],
  ["a space before", (name) => ` ${name}`],
];

export interface Way {
  readonly name: string;
  /** Sends the line and returns its answer: for a pipeline, the element. Undefined: not possible in this way. */
  send(server: TestServer, words: readonly string[], token: string): Promise<Answer> | undefined;
}

export interface Answer {
  readonly status: number;
  /** `{"result":…}` or `{"error":…}` */
  readonly text: string;
}

const encode = encodeURIComponent;

function pathOf(words: readonly string[]): string {
  return `/${words.map(encode).join("/")}`;
}

function get(server: TestServer, path: string, options: SendOptions): Promise<TestReply> {
  return server.get(path, options);
}

/** Every way to send one command line. */
export const ways: readonly Way[] = [
  { name: "body", send: (server, words, token) => server.post("/", words, { token }) },
  { name: "path", send: (server, words, token) => get(server, pathOf(words), { token }) },
  {
    name: "path with the token in the query",
    send: (server, words, token) => get(server, `${pathOf(words)}?_token=${encode(token)}`, { token: null }),
  },
  {
    name: "arguments in the query",
    send: (server, [name = "", ...rest], token) =>
      get(server, `/${encode(name)}/?${rest.map(encode).join("&")}`, { token }),
  },
  {
    name: "last argument as the body",
    send: (server, words, token) =>
      words.length < 2 ? undefined : server.post(pathOf(words.slice(0, -1)), words.at(-1), { token }),
  },
  {
    name: "last argument as the body, the one before in the query",
    send: (server, words, token) =>
      words.length < 4
        ? undefined
        : server.post(`${pathOf(words.slice(0, 2))}?${words.slice(3).map(encode).join("&")}`, words[2], { token }),
  },
  {
    name: "pipeline",
    async send(server, words, token) {
      const { status, json, text } = await server.post("/pipeline", [["PING"], words], { token });
      if (!Array.isArray(json)) return { status, text };
      const [ping, answer] = json as unknown[];
      if (JSON.stringify(ping) !== '{"result":"PONG"}') return { status, text };
      // The status of an element is that of the same single command.
      return { status: 400, text: JSON.stringify(answer) };
    },
  },
  {
    name: "transaction",
    send: (server, words, token) => server.post("/multi-exec", [["PING"], words], { token }),
  },
];
