import assert from "node:assert/strict";
import { test } from "node:test";
import { luaOptions } from "../../../../test/harness/lua.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { seededRandom } from "../../../kernel/random.ts";
import { findError, type Reply } from "../../reply/reply.ts";
import { compileLua } from "./instance.ts";
import { formatSignificant } from "./number-text.ts";
import { LuaRuntime } from "./runtime.ts";

const module = compileLua(luaOptions.code);
const runtime = new LuaRuntime({ module, clock: new VirtualClock(), random: seededRandom(1) });

/** The result of `return <expression>`; of an error the text up to the name of the script. */
function answer(script: Bytes): unknown {
  const source = /\breturn\b/.test(script) ? script : `return ${script}`;
  const reply: Reply = runtime.run({ owner: "o", name: source, source, keys: [], args: [], host: { call: () => 0 } });
  const error = findError(reply);
  return error === undefined ? reply : `-${error.text.slice(0, error.text.indexOf(" script: "))}`;
}

function check(table: readonly (readonly [Bytes, unknown])[]): void {
  for (const [script, reply] of table) assert.deepEqual(answer(script), reply, script);
}

const failed = (text: string): string => `-ERR user_script:1: ${text}`;

test("cjson.encode writes what Redis writes", () => {
  check([
    ["cjson.encode({1,2,3})", "[1,2,3]"],
    ["cjson.encode({})", "{}"],
    ["cjson.encode({a={1,{b='c'}}})", '{"a":[1,{"b":"c"}]}'],
    ["cjson.encode({[1]=1,[3]=3})", "[1,null,3]"],
    ["cjson.encode({[1]=1,[1000]=3})", failed("Cannot serialise table: excessively sparse array")],
    ["cjson.encode_sparse_array(true) return cjson.encode({[1000]=3})", '{"1000":3}'],
    ["cjson.encode({[1.5]=1})", '{"1.5":1}'],
    ["cjson.encode({[-1]=1})", '{"-1":1}'],
    ["cjson.encode({[true]=1})", failed("Cannot serialise boolean: table key must be a number or string")],
    ["cjson.encode('a/b\"\\\\\\n\\1\\127\\200')", '"a\\/b\\"\\\\\\n\\u0001\\u007f\xc8"'],
    ["cjson.encode(0.1)", "0.1"],
    ["cjson.encode(1e15)", "1e+15"],
    ["cjson.encode(1/3)", "0.33333333333333"],
    ["cjson.encode_number_precision(3) return cjson.encode({math.pi, 12345678})", "[3.14,1.23e+07]"],
    [
      "cjson.encode_number_precision(17)",
      failed("bad argument #1 to 'encode_number_precision' (expected integer between 1 and 14)"),
    ],
    ["cjson.encode(1/0)", failed("Cannot serialise number: must not be NaN or Inf")],
    ["cjson.encode_invalid_numbers('null') return cjson.encode({1/0})", "[null]"],
    ["cjson.encode({cjson.null,nil,3})", "[null,null,3]"],
    ["cjson.encode(function() end)", failed("Cannot serialise function: type not supported")],
    ["cjson.encode(1,2)", failed("bad argument #1 to 'encode' (expected 1 argument)")],
    ["{cjson.encode_sparse_array()}", [null, 2, 10]],
  ]);
});

test("the settings of cjson refuse what Redis refuses", () => {
  check([
    ["{cjson.encode_sparse_array('on', 3)}", [1, 3, 10]],
    ["{cjson.encode_sparse_array(false, 2)}", [null, 2, 10]],
    ["cjson.encode_sparse_array('x')", failed("bad argument #1 to 'encode_sparse_array' (invalid option 'x')")],
    ["cjson.encode_sparse_array({})", failed("bad argument #1 to 'encode_sparse_array' (string expected, got table)")],
    ["cjson.encode_keep_buffer(1)", failed("bad argument #1 to 'encode_keep_buffer' (invalid option '1')")],
    [
      "cjson.decode_invalid_numbers('null')",
      failed("bad argument #1 to 'decode_invalid_numbers' (invalid option 'null')"),
    ],
    ["cjson.encode_max_depth(1, nil)", failed("bad argument #2 to 'encode_max_depth' (found too many arguments)")],
    [
      "cjson.encode_sparse_array(nil, nil, nil, nil)",
      failed("bad argument #4 to 'encode_sparse_array' (found too many arguments)"),
    ],
  ]);
});

test("cjson.new returns an open module with settings of its own, as in Redis", () => {
  check([
    ["cjson.new().encode({1,cjson.null})", "[1,null]"],
    ["local j=cjson.new() j.encode_max_depth(1) return {j.encode_max_depth(), cjson.encode_max_depth()}", [1, 1000]],
    [
      "local j=cjson.new() j.encode_max_depth(1) return j.encode({{1}})",
      failed("Cannot serialise, excessive nesting (2)"),
    ],
    [
      "local j=cjson.new() j.encode_number_precision(3) return {j.encode(math.pi), cjson.encode(math.pi), cjson.new().encode(math.pi)}",
      ["3.14", "3.1415926535898", "3.1415926535898"],
    ],
    [
      "local j=cjson.new() j.encode_invalid_numbers('null') return {j.encode({1/0}), j.new().encode_invalid_numbers()}",
      ["[null]", null],
    ],
    [
      "local j=cjson.new() j.decode_invalid_numbers(false) return {tostring(j.decode_invalid_numbers()), cjson.decode_invalid_numbers()}",
      ["false", 1],
    ],
    [
      "local j=cjson.new() j.decode_max_depth(1) return j.decode('[[1]]')",
      failed("Found too many nested data structures (2) at character 2"),
    ],
    ["local j=cjson.new() j.encode_sparse_array(true,2,3) return {j.encode_sparse_array()}", [1, 2, 3]],
    ["local j=cjson.new() j.encode_keep_buffer(false) return tostring(j.encode_keep_buffer())", "false"],
    [
      "local j=cjson.new() j.x=1 return {j.x, j._NAME, j._VERSION, tostring(j.null==cjson.null)}",
      [1, "cjson", "2.1.0", "true"],
    ],
    ["local j=cjson.new(1,2) return {pcall(j.encode)}", [null, "bad argument #1 to '?' (expected 1 argument)"]],
    ["(function() cjson.new = nil end)()", failed("Attempt to modify a readonly table")],
    ["cjson.encode_max_depth(2^32+7)", 7],
  ]);
});

test("cjson.decode reads what Redis reads, with its errors", () => {
  check([
    ['cjson.encode(cjson.decode(\'{"x":[1,2.5,true,null,"s"]}\'))', '{"x":[1,2.5,true,null,"s"]}'],
    ["cjson.decode('[01, 0x10, -0, 1.5e3, inf]')[2]", 16],
    ["tostring(cjson.decode('nan'))", "nan"],
    [
      "cjson.decode_invalid_numbers(false) return cjson.decode('[0x10]')",
      failed("Expected value but found invalid number at character 2"),
    ],
    ["cjson.decode('\"\\\\ud83d\\\\ude00\\\\u00e9\"')", "\xf0\x9f\x98\x80\xc3\xa9"],
    ["cjson.decode('\"\\\\ud83d\"')", failed("Expected value but found invalid unicode escape code at character 2")],
    ["cjson.decode('\"\\\\x\"')", failed("Expected value but found invalid escape code at character 2")],
    ["cjson.decode('\"a\\nb\"')", "a\nb"],
    ["cjson.decode('\"abc')", failed("Expected value but found unexpected end of string at character 5")],
    ["cjson.decode('')", failed("Expected value but found T_END at character 1")],
    ["cjson.decode('[1,2')", failed("Expected comma or array end but found T_END at character 5")],
    ["cjson.decode('[1 2]')", failed("Expected comma or array end but found T_NUMBER at character 4")],
    ["cjson.decode('{\"a\":1,}')", failed("Expected object key string but found T_OBJ_END at character 8")],
    ["cjson.decode('{1:2}')", failed("Expected object key string but found T_NUMBER at character 2")],
    ["cjson.decode('{\"a\" 2}')", failed("Expected colon but found T_NUMBER at character 6")],
    ["cjson.decode('nul')", failed("Expected value but found invalid token at character 1")],
    ["cjson.decode('+1')", 1],
    ["cjson.decode('+x')", failed("Expected value but found invalid number at character 1")],
    ["cjson.decode('[1] x')", failed("Expected the end but found invalid token at character 5")],
    ["tostring(cjson.decode('[null]')[1] == cjson.null)", "true"],
    ["tostring(cjson.null)", "userdata: (nil)"],
    ["{tostring(getmetatable(cjson.null)), type(cjson.null), cjson.encode(cjson.null)}", ["nil", "userdata", "null"]],
    ["tostring(pcall(setmetatable, cjson.null, {}))", "false"],
  ]);
});

test("tonumber reads 64 bits in any base, as with a C long of 64 bits", () => {
  check([
    ["string.format('%.0f', tonumber('123456789abc', 16))", "20015998343868"],
    ["string.format('%.0f', tonumber('0xffffffffffff', 16))", "281474976710655"],
    ["string.format('%.0f', tonumber('-1', 16))", "18446744073709551616"],
    ["string.format('%.0f', tonumber('zzzzzzzzzzzzzzzz', 36))", "18446744073709551616"],
    ["string.format('%.0f', tonumber('  +777777777777  ', 8))", "68719476735"],
    ["tonumber('ff', 16)", 255],
    ["tonumber('10', 2)", 2],
    ["tonumber(10, 36)", 36],
    ["tostring(tonumber('0x', 16))", "nil"],
    ["tostring(tonumber('12', 2))", "nil"],
    ["tonumber('12', 10)", 12],
    ["tonumber('10', 2^32+16)", 16],
    ["tonumber('1', 37)", failed("bad argument #2 to 'tonumber' (base out of range)")],
    ["tonumber()", failed("bad argument #1 to 'tonumber' (value expected)")],
  ]);
});

test("ranges and positions are read with 64 bits, of which an int takes 32, as in Redis", () => {
  check([
    ["{unpack({}, 0, 2^31-1)}", failed("too many results to unpack")],
    ["{unpack({}, -2^31)}", failed("too many results to unpack")],
    ["{unpack({}, -2^31, 2^31-1)}", failed("too many results to unpack")],
    ["{unpack({}, 1, 1e10)}", failed("too many results to unpack")],
    ["{unpack({1,2,3}, 2^32+2, 2^32+3)}", [2, 3]],
    ["unpack({}, {}, 2^31-1)", failed("bad argument #2 to 'unpack' (number expected, got table)")],
    ["table.concat({'a','b'}, '-', 1, 2^32+2)", "a-b"],
    ["table.concat({'a','b'}, '-', 1, 1e10)", failed("invalid value (nil) at index 3 in table for 'concat'")],
    ["local t={1,2} table.insert(t, 2^32+1, 'x') return t", ["x", 1, 2]],
    ["unpack(1, 2)", failed("bad argument #1 to 'unpack' (table expected, got number)")],
    ["table.remove({1,2,3}, 2^32+2)", 2],
    ["string.rep('x', 2^32+2)", "xx"],
    ["string.rep('x', 2^31)", ""],
    ["{string.find('hello', 'l', 1/0)}", [3, 3]],
    ["(string.gsub('hello', 'l', 'L', 2^32+1))", "heLlo"],
    ["math.random(2^40)", failed("bad argument #1 to 'random' (interval is empty)")],
    ["struct.unpack('i', 'xxxx', -1)", failed("bad argument #2 to 'unpack' (data string too short)")],
    ["struct.pack('h')", failed("bad argument #2 to 'pack' (number expected, got nil)")],
    ["struct.pack('hs', 1)", failed("bad argument #3 to 'pack' (string expected, got nil)")],
    ["struct.pack()", failed("bad argument #1 to 'pack' (string expected, got no value)")],
  ]);
});

test("cmsgpack tells a missing argument from nil, as Redis does", () => {
  check([
    ["cmsgpack.unpack()", failed("bad argument #1 to 'unpack' (string expected, got no value)")],
    ["cmsgpack.unpack(nil)", failed("bad argument #1 to 'unpack' (string expected, got nil)")],
    ["cmsgpack.unpack(table.remove({}, 5))", failed("bad argument #1 to 'unpack' (string expected, got no value)")],
    ["cmsgpack.unpack_one()", failed("bad argument #1 to 'unpack_one' (string expected, got no value)")],
    ["cmsgpack.unpack_limit(nil, 1)", failed("bad argument #1 to 'unpack_limit' (string expected, got nil)")],
  ]);
});

test("cmsgpack packs and unpacks as in Redis", () => {
  check([
    ["cmsgpack.pack(1,-1,127,128,255,256)", "\x01\xff\x7f\xcc\x80\xcc\xff\xcd\x01\x00"],
    [
      "cmsgpack.pack(65536,2^32,-33,-129)",
      "\xce\x00\x01\x00\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xd0\xdf\xd1\xff\x7f",
    ],
    ["cmsgpack.pack(-2^31-1)", "\xd3\xff\xff\xff\xff\x7f\xff\xff\xff"],
    ["cmsgpack.pack(1.5,0.1)", "\xca\x3f\xc0\x00\x00\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"],
    [
      "cmsgpack.pack('a',true,false,nil,{},{1,2},{a=1},{[2]=1})",
      "\xa1a\xc3\xc2\xc0\x90\x92\x01\x02\x81\xa1a\x01\x81\x02\x01",
    ],
    ["{cmsgpack.unpack(cmsgpack.pack(1,-5,'abc',{1,{2}},2^40))}", [1, -5, "abc", [1, [2]], 1_099_511_627_776]],
    ["{cmsgpack.unpack_one('\\1\\2')}", [1, 1]],
    ["{cmsgpack.unpack_one('\\1\\2', 1)}", [-1, 2]],
    ["{cmsgpack.unpack_limit('\\1\\2\\3',2,1)}", [-1, 2, 3]],
    ["string.format('%.0f', cmsgpack.unpack('\\207\\127\\255\\255\\255\\255\\255\\255\\255'))", "9223372036854775808"],
    ["cmsgpack.unpack('\\207\\128\\0\\0\\0\\0\\0\\0\\0')", -9_223_372_036_854_775_808n],
    ["cmsgpack.unpack('\\207\\255\\255\\255\\255\\0\\0\\0\\0')", -4_294_967_296],
    ["cmsgpack.unpack('\\207\\255\\255\\255\\255\\255\\255\\255\\255')", -1],
    ["cmsgpack.pack(2^63, 2^64)", "\xca\x5f\x00\x00\x00\xca\x5f\x80\x00\x00"],
    ["cmsgpack.unpack_one('\\1\\2', 2^32+1)", failed("Start offset 1 greater than input length 2.")],
    ["cmsgpack.unpack('\\193')", failed("Bad data format in input.")],
    ["cmsgpack.unpack('\\146\\1')", failed("Missing bytes in input.")],
    ["cmsgpack.unpack_one('\\1\\2',5)", failed("Start offset 5 greater than input length 2.")],
    ["cmsgpack.unpack_limit('\\1\\2\\3',-1)", failed("Invalid request to unpack with offset of 0 and limit of 3.")],
  ]);
});

test("bit computes on 32 bits as in Redis", () => {
  check([
    [
      "{bit.tobit(2^40+5), bit.tobit(1.5), bit.tobit(2.5), bit.tobit(2^31), bit.tobit(0/0)}",
      [5, 2, 2, -2_147_483_648, 0],
    ],
    ["{bit.bnot(0), bit.band(255,15,'7'), bit.bor(1,2,4), bit.bxor(5,1)}", [-1, 7, 7, 4]],
    [
      "{bit.lshift(1,33), bit.rshift(-8,28), bit.arshift(-8,1), bit.rol(0x12345678,4), bit.ror(1,1)}",
      [2, 15, -4, 591_751_041, -2_147_483_648],
    ],
    [
      "{bit.bswap(0x12345678), bit.tohex(255,4), bit.tohex(-1,-8), bit.tohex(1)}",
      [2_018_915_346, "00ff", "FFFFFFFF", "00000001"],
    ],
  ]);
});

test("struct packs and unpacks as in Redis", () => {
  check([
    ["struct.pack('>I2hi', 258, -2, 3)", "\x01\x02\xff\xfe\x00\x00\x00\x03"],
    ["struct.pack('!4bi', 1, 2)", "\x01\0\0\0\x02\0\0\0"],
    ["struct.pack('c0sc2', 'abc', 'de', 'xyz')", "abcde\0xy"],
    ["{struct.unpack('<ihBs', struct.pack('<ihBs', -5, -2, 200, 'hey'))}", [-5, -2, 200, "hey", 12]],
    ["{struct.unpack('bc0', '\\3abcdef')}", ["abc", 5]],
    ["struct.unpack('d', struct.pack('d', 3.25)) * 4", 13],
    ["struct.size('bhilfdTx!8ic10')", 50],
    ["struct.pack('i99',1)", failed("integral size 99 is larger than limit of 32")],
    ["struct.unpack('s','abc')", failed("unfinished string in data")],
  ]);
});

test("sort orders as Lua does, and refuses an invalid order", () => {
  check([
    ["local t={5,3,1,4,2} table.sort(t) return t", [1, 2, 3, 4, 5]],
    ["local t={5,3,1,4,2} table.sort(t, function(a,b) return a > b end) return t", [5, 4, 3, 2, 1]],
    ["local t={'b','a','c'} table.sort(t) return t", ["a", "b", "c"]],
    [
      "local t={} for i=1,50 do t[i]=i end table.sort(t, function() return true end) return 1",
      failed("invalid order function for sorting"),
    ],
  ]);
});

test("numbers are printed with as many digits as in C", () => {
  const table: readonly [number, number, string][] = [
    [0.1, 17, "0.10000000000000001"],
    [1e20, 17, "1e+20"],
    [1e-7, 17, "9.9999999999999995e-08"],
    [123456789, 3, "1.23e+08"],
    [0.0001, 14, "0.0001"],
    [2 ** 63, 17, "9.2233720368547758e+18"],
    [-0, 17, "-0"],
    [Number.NEGATIVE_INFINITY, 17, "-inf"],
  ];
  for (const [value, digits, text] of table) assert.equal(formatSignificant(value, digits), text);
});
