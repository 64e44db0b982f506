/**
 * Random scripts: small expressions combined at random, with commands
 * among them, and the conversion of their values to replies.
 *
 * Nothing here depends on the order of a table's hash part or of a set, which
 * differs from server to server.
 */
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { sha1 } from "../../../src/kernel/checksum/sha1.ts";
import { writeLibraries } from "../../../src/store/structures/rdb/function-payload.ts";
import { asMultiset, type Comparison, isError, isList, isSame, showReply } from "../compare.ts";
import { type Draw, KEYS } from "../draw.ts";
import type { Family } from "../programs.ts";
import type { RawReply } from "../redis-process.ts";

const NUMBERS: readonly string[] = [
  ...[
    "0",
    "1",
    "-1",
    "3",
    "3.99",
    "-3.99",
    "0.1",
    "1e15",
    "1e16",
    "1e100",
    "-1e100",
    "2^53",
    "2^53+1",
    "-(2^63)",
    "0/0",
  ],
  ...["1/0", "-1/0", "4294967296", "2147483648", "100000000000000", "123456789012345678", "0x10", "1e-7"],
];
const STRINGS: readonly string[] = [
  ...["''", "'a'", "'hello world'", "'\\0\\1\\255'", "'10'", "' 10 '", "'0x10'", "'1e3'", "'3.0'", "'\\n\\r'", "'[1]'"],
  "'\\207\\255\\255\\255\\255\\0\\0\\0\\1'",
  ...["'{}'", '\'{"a":[1,2.5,null,true,"\\\\u00e9\\\\n"]}\'', "'[[],{}]'", "('x'):rep(300)"],
];
/** `tostring`, except for values that it would print as an address. */
const SHOWN =
  "(function(x) if type(x) == 'table' or type(x) == 'function' then return type(x) end return tostring(x) end)";
/** Functions of one value, most of which fail on some. */
const ONE_VALUE: readonly string[] = [
  ...[SHOWN, "tonumber", "type", "cjson.encode", "cjson.decode", "cmsgpack.pack", "cmsgpack.unpack", "bit.tohex"],
  ...["bit.bnot", "bit.bswap", "bit.tobit", "string.upper", "string.len", "string.reverse", "math.floor", "math.abs"],
  ...["math.sqrt", "redis.sha1hex", "redis.error_reply", "redis.status_reply", "string.byte", "#", "-", "not "],
  ...["table.concat", "unpack", "next", "loadstring", "struct.unpack", "rawlen", "ipairs", "assert"],
  ...["cjson.new().encode", "cjson.new().decode"],
];
const TWO_VALUES: readonly string[] = [
  ...["bit.band", "bit.bor", "bit.bxor", "bit.lshift", "bit.rshift", "bit.arshift", "bit.rol", "bit.ror"],
  ...["math.max", "string.find", "string.match", "string.gsub", "rawequal", "tonumber", "cmsgpack.pack"],
  ...["string.format", "struct.pack", "struct.size", "struct.unpack", "table.concat", "rawget"],
];
const OPERATORS: readonly string[] = ["+", "-", "*", "/", "%", "^", "..", "==", "~=", "<", "<=", " and ", " or "];
const FORMATS: readonly string[] = [
  ...["'>I2'", "'<i4'", "'>B'", "'s'", "'c3'", "'!4 i1'", "'d'", "'>f'", "'I9'", "'z'", "'%d'", "'%5.2f'", "'%s'"],
  ...["'%q'", "'%5s|%-5s'", "'%c'", "'%g'", "'%i'", "'%y'", "'(%a+)'", "'%d+'", "'[a-c]*'", "'(.)(.)'", "'^a'"],
];

function atom(draw: Draw): string {
  return draw.pick([
    () => draw.pick(NUMBERS),
    () => draw.pick(NUMBERS),
    () => draw.pick(STRINGS),
    () => draw.pick(STRINGS),
    () => draw.pick(["true", "false", "nil", "KEYS[1]", "ARGV[1]", "ARGV[2]", "#ARGV", "KEYS", "ARGV", "cjson.null"]),
    () => draw.pick(FORMATS),
  ])();
}

function table(draw: Draw, depth: number): string {
  const items = draw.oneIn(6) ? [] : draw.list(4, () => expression(draw, depth - 1));
  if (draw.oneIn(5))
    return `{${draw.pick(["ok", "err", "double", "a", "[3]", "[1.5]"])}=${expression(draw, depth - 1)}}`;
  return `{${items.join(",")}}`;
}

function expression(draw: Draw, depth = 3): string {
  if (depth <= 0) return atom(draw);
  return draw.pick([
    () => atom(draw),
    () => table(draw, depth),
    () => table(draw, depth),
    () => `${draw.pick(ONE_VALUE)}(${expression(draw, depth - 1)})`,
    () => `${draw.pick(TWO_VALUES)}(${expression(draw, depth - 1)},${expression(draw, depth - 1)})`,
    () => `(${expression(draw, depth - 1)}${draw.pick(OPERATORS)}${expression(draw, depth - 1)})`,
    () => `cjson.encode(${table(draw, depth)})`,
    () => `cmsgpack.unpack(cmsgpack.pack(${table(draw, depth)}))`,
    () => `cjson.decode(cjson.encode(${table(draw, depth)}))`,
    () => range(draw, depth),
    () => called(draw),
    () => called(draw),
  ])();
}

/** A function that takes the ends of a range. */
function range(draw: Draw, depth: number): string {
  const ends = `${draw.pick(NUMBERS)},${draw.pick(NUMBERS)}`;
  return draw.pick([
    () => `unpack(${table(draw, depth)},${ends})`,
    () => `table.concat(${table(draw, depth)},',',${ends})`,
    () => `table.remove(${table(draw, depth)},${draw.pick(NUMBERS)})`,
    () => `cmsgpack.unpack_limit(${draw.pick(STRINGS)},${ends})`,
  ])();
}

/** A command that a script calls. None has a reply whose order depends on the server. */
const CALLS: readonly string[] = [
  ...["'get',KEYS[1]", "'set',KEYS[1],ARGV[1]", "'incr',KEYS[1]", "'incrbyfloat',KEYS[1],'0.5'", "'del',KEYS[1]"],
  ...["'set',KEYS[1],10.5", "'set',KEYS[1],3", "'set',KEYS[1],2^60", "'append',KEYS[1],-0.25", "'strlen',KEYS[1]"],
  ...["'lpush','list',ARGV[1],ARGV[2]", "'lrange','list','0','3'", "'llen','list'", "'lpop','list'", "'type',KEYS[1]"],
  ...["'hset','hash','f',ARGV[1]", "'hget','hash','f'", "'hgetall','hash'", "'hmget','hash','f','none'"],
  ...["'zrange','zset','0','3','withscores'", "'zRevRange','zset',0,-1,'WithScores'", "'zpopmin','zset',2"],
  ...[
    "'zrangebyscore','zset','-inf','+inf','limit',0,2",
    "'zadd','zset','nx','ch',1,ARGV[1]",
    "'zincrby','zset',1,'m'",
  ],
  ...["'hrandfield','hash',1,'withvalues'", "'getex',KEYS[1],'ex',100", "'lpos','list',ARGV[1],'rank',-1,'count',0"],
  ...[
    "'set',KEYS[1],ARGV[1],'keepttl','xx'",
    "'copy',KEYS[1],'copied','replace'",
    "'xadd','stream','nomkstream','9-9','f','v'",
  ],
  ...["'zadd','zset','1.5',ARGV[1]", "'zrange','zset','0','3'", "'zscore','zset',ARGV[1]", "'zcard','zset'"],
  ...[
    "'sadd','set',ARGV[1]",
    "'scard','set'",
    "'sismember','set',ARGV[1]",
    "'exists',KEYS[1]",
    "'mget',KEYS[1],'none'",
  ],
  ...["'xadd','stream','1-1','f','v'", "'xlen','stream'", "'xrange','stream','-','+'", "'geopos','none','a','b'"],
  ...[
    "'nosuch'",
    "'get'",
    "'eval','return 1','0'",
    "'script','flush'",
    "'object','nosuch'",
    "'ping'",
    "'echo',ARGV[1]",
  ],
  ...[
    "'publish','c','m'",
    "'getrange',KEYS[1],'0','2'",
    "'set',KEYS[1],ARGV[1],'get'",
    "'blmpop','0','2','none','list','left','count',2",
    "'bzmpop','0','1','zset','min'",
    "'blmpop','x','1','list','left'",
    "'wait',0,0",
  ],
  ...["'dbsize'", "'expire',KEYS[1],'1000'", "'rename',KEYS[1],KEYS[1]", "'lolwut',{}"],
];

function called(draw: Draw): string {
  return `redis.${draw.pick(["call", "call", "pcall"])}(${draw.pick(CALLS)})`;
}

/** Expressions on a reply that reveal its type. */
const LOOKS: readonly string[] = [
  "return r",
  "return {r, r}",
  "return type(r)",
  "if type(r) == 'table' then return {r.ok or 'no ok', r.err or 'no err', #r} end return type(r)",
  "if type(r) == 'table' then return {type(r[1]), type(r[2]), r[1] == false} end return {type(r), r == nil}",
  "redis.call('set', 'seen', type(r) == 'string' and r or type(r)) return r",
  "return cjson.encode(r)",
];

function body(draw: Draw): Bytes {
  const start = draw.oneIn(6) ? `redis.setresp(${draw.pick(["2", "3", "3", "4", "'3'"])}) ` : "";
  return draw.pick([
    () => `${start}return ${expression(draw)}`,
    () => `${start}return ${called(draw)}`,
    () => `${start}local r = ${called(draw)} ${draw.pick(LOOKS)}`,
    () => `${start}local r = ${expression(draw)} ${draw.pick(LOOKS)}`,
    () => `${start}${called(draw)}\n${called(draw)}\nreturn {${called(draw)}, ${called(draw)}}`,
    () => `${start}local ok, r = pcall(function() return ${expression(draw)} end) return {ok, type(r)}`,
    () => `${start}for i = 1, ${draw.below(4)} do ${called(draw)} end return ${called(draw)}`,
    () =>
      `${start}${draw.pick(["x = 1", "return x", "KEYS = nil return 1", "redis = nil", "return print", "error({err='E'})"])}`,
  ])();
}

const SHEBANGS: readonly string[] = [
  "#!lua\n",
  "#!lua flags=no-writes\n",
  "#!lua flags=allow-oom,allow-stale\n",
  "#!lua flags=what\n",
  "#!lua name=x\n",
  "#!what\n",
];

function script(draw: Draw): Bytes {
  return (draw.oneIn(8) ? draw.pick(SHEBANGS) : "") + body(draw);
}

/** Key count, keys and arguments. */
function given(draw: Draw): Bytes[] {
  // No text with a number as its prefix: how much of it is a number depends on the C library of each server.
  const argument = (): Bytes =>
    draw.pick([() => draw.text(), () => draw.binary(), () => draw.pick(["3", "-2.5", "1e3", ""])])();
  return ["1", draw.key(), ...draw.list(3, argument)];
}

/** Few, so that they are shared. */
const KNOWN: readonly Bytes[] = [
  "return 1",
  "return redis.call('incr', KEYS[1])",
  "return {KEYS[1], ARGV[1], #ARGV}",
  "return redis.call('get', KEYS[1])",
  "return (",
];

function digest(draw: Draw): Bytes {
  const text = sha1(draw.pick(KNOWN)).toString("hex");
  return draw.oneIn(6) ? draw.pick(["what", text.toUpperCase(), text.slice(1), `${text}0`]) : text;
}

const LIBRARY_NAMES: readonly Bytes[] = ["one", "two", "Three", "bad name", ""];
const FUNCTION_NAMES: readonly Bytes[] = ["f", "g", "F2", "writer"];

function registration(draw: Draw): string {
  const name = draw.oneIn(12) ? draw.pick(["", "bad name"]) : draw.pick(FUNCTION_NAMES);
  const callback = `function(keys, args) local KEYS, ARGV = keys, args ${body(draw)} end`;
  const flags = draw.pick(["{}", "{'no-writes'}", "{'no-writes','allow-oom'}", "{'what'}", "3"]);
  return draw.pick([
    () => `redis.register_function('${name}', ${callback})`,
    () => `redis.register_function{function_name='${name}', callback=${callback}}`,
    () => `redis.register_function{function_name='${name}', callback=${callback}, flags=${flags}}`,
    () =>
      `redis.register_function{function_name='${name}', callback=${callback}, flags={'no-writes'}, description='d'}`,
    () => draw.pick([`redis.register_function('${name}')`, "redis.call('ping')", "local x = nil + 1", "x = 1"]),
  ])();
}

function library(draw: Draw): Bytes {
  const first = draw.oneIn(15)
    ? draw.pick(["", "#!lua\n", "#!what name=one\n", "#!lua name=one name=two\n", "#!lua name=one what=x\n"])
    : `#!lua name=${draw.oneIn(12) ? draw.pick(LIBRARY_NAMES) : draw.pick(["one", "two", "Three"])}\n`;
  return first + draw.list(3, () => registration(draw)).join("\n");
}

function functionName(draw: Draw): Bytes {
  const name = draw.oneIn(12) ? "none" : draw.pick(FUNCTION_NAMES);
  return draw.oneIn(5) ? draw.oddCase(name) : name;
}

/** A dump of libraries that are valid or nearly so. */
function dump(draw: Draw): Bytes {
  const bytes = writeLibraries(draw.list(2, () => library(draw))).latin1Slice();
  return draw.oneIn(8) ? bytes.slice(draw.below(5)) : bytes;
}

const readOnlyRefusal = "ERR Can not execute a script with write flag using *_ro command.";

/** The hosted service also calls functions without the no-writes flag; Redis does not. */
const asReadOnlyCall: Comparison = (exchange) =>
  asResult(exchange) || (isError(exchange.theirs) && showReply(exchange.theirs) === `(error) ${readOnlyRefusal}`);

/** Where Lua prints an address, it is that of its own memory, and WebAssembly leaves the sign of NaN undefined. */
const asResult: Comparison = ({ ours, theirs }) =>
  isSame(ours, theirs) || showReply(withoutAddresses(ours)) === showReply(withoutAddresses(theirs));

function withoutAddresses(reply: RawReply): RawReply {
  if (typeof reply === "string")
    return reply.replace(/(table|function|builtin|thread): (0x)?\w+/g, "$1").replace(/-nan/g, "nan");
  return isList(reply) ? reply.map(withoutAddresses) : reply;
}

/** The order of the libraries depends on the server, and so does that of the functions of each. */
const asLibraries: Comparison = ({ command, ours, theirs }) => {
  const subcommand = (command[1] ?? "").toUpperCase();
  if (subcommand === "DUMP") return typeof ours === typeof theirs;
  if (!isList(ours) || !isList(theirs))
    return (
      isSame(ours, theirs) ||
      (isTaken(ours) && isTaken(theirs)) ||
      // Some errors end at the line, and some do not.
      (isError(ours) && showReply(ours).trimEnd() === showReply(theirs).trimEnd())
    );
  if (subcommand === "HELP") return true;
  const sort = (libraries: readonly RawReply[]): RawReply[] =>
    libraries.map((one) => (isList(one) ? one.map((fact) => (isList(fact) ? sortedFunctions(fact) : fact)) : one));
  return asMultiset({ command, ours: sort(ours), theirs: sort(theirs) });
};

/** If the names of several functions are taken, each server names the first one that it finds. */
function isTaken(reply: RawReply): boolean {
  return isError(reply) && / (?:Function|Library) \w+ already exists$/.test(showReply(reply));
}

function sortedFunctions(functions: readonly RawReply[]): RawReply[] {
  return functions.toSorted((one, other) => (showReply(one) < showReply(other) ? -1 : 1));
}

export const scriptingFamily: Family = {
  name: "scripting",
  commands: [
    (draw) => ["EVAL", script(draw), ...given(draw)],
    (draw) => ["EVAL", script(draw), ...given(draw)],
    (draw) => ["EVAL", script(draw), ...given(draw)],
    (draw) => ["EVAL", script(draw), ...given(draw)],
    (draw) => ["EVAL", draw.pick(KNOWN), draw.pick(["0", "1", "2", "x", "-1", "9"]), ...draw.keys()],
    (draw) => ["EVAL_RO", script(draw), ...given(draw)],
    (draw) => ["EVALSHA", digest(draw), ...given(draw)],
    (draw) => ["EVALSHA_RO", digest(draw), ...given(draw)],
    (draw) => ["SCRIPT", "LOAD", draw.oneIn(2) ? draw.pick(KNOWN) : script(draw)],
    (draw) => ["SCRIPT", "EXISTS", ...draw.list(3, () => digest(draw).slice(0, 40))],
    (draw) => ["SCRIPT", "FLUSH", ...draw.options([() => ["ASYNC"], () => ["SYNC"], () => ["what"]], 2)],
    (draw) => ["SCRIPT", draw.pick(["KILL", "HELP", "what"])],
    (draw) => ["FUNCTION", "LOAD", ...draw.options([() => ["REPLACE"]], 2), library(draw)],
    (draw) => ["FUNCTION", "LOAD", "REPLACE", library(draw)],
    (draw) => [
      "FUNCTION",
      "LIST",
      ...draw.options([() => ["WITHCODE"], () => ["LIBRARYNAME", draw.pick(["*", "T*", "one"])]]),
    ],
    (draw) => ["FUNCTION", draw.pick(["DELETE", "DELETE", "RESTORE"]), draw.pick(["one", "two", "Three", "none"])],
    (draw) => [
      "FUNCTION",
      "RESTORE",
      dump(draw),
      ...draw.options([() => ["REPLACE"], () => ["APPEND"], () => ["FLUSH"]], 1),
    ],
    (draw) => ["FUNCTION", draw.pick(["STATS", "DUMP", "KILL", "HELP", "what", "FLUSH"])],
    (draw) => ["FCALL", functionName(draw), ...given(draw)],
    (draw) => ["FCALL", functionName(draw), ...given(draw)],
    (draw) => ["FCALL", functionName(draw), draw.pick(["0", "1", "x", "-1"])],
    (draw) => ["FCALL_RO", functionName(draw), ...given(draw)],
    (draw) => ["SET", draw.pick(KEYS), draw.integer()],
  ],
  comparisons: new Map<string, Comparison>([
    ["EVAL", asResult],
    ["EVAL_RO", asResult],
    ["EVALSHA", asResult],
    ["EVALSHA_RO", asResult],
    ["FCALL", asResult],
    ["FCALL_RO", asReadOnlyCall],
    ["FUNCTION", asLibraries],
    [
      "SCRIPT",
      ({ command, ours, theirs }) =>
        (command[1] ?? "").toUpperCase() === "HELP" && isList(ours) ? isList(theirs) : isSame(ours, theirs),
    ],
  ]),
};
