/** One table for all encoders: the same reply in JSON, in JSON with base64, in RESP2 and in RESP3. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CommandError } from "../../store/errors.ts";
import type { Reply } from "../../store/mod.ts";
import {
  arrayInResp3,
  double,
  errorReply,
  flatPairs,
  map,
  nilArray,
  ok,
  pairs,
  pong,
  set,
  simple,
  verbatim,
} from "../../store/reply/reply.ts";
import { resp2Result, resp3Result } from "../resp/replies.ts";
import { base64Result } from "./reply-base64.ts";
import { jsonResult, utf8Of } from "./reply-json.ts";

const MAX = 1_000_000;
const wrongType = errorReply(new CommandError("WRONGTYPE no"));

interface Row {
  reply: Reply;
  json: string;
  base64: string;
  resp2: string;
  resp3: string;
}

const rows: Row[] = [
  { reply: ok, json: '{"result":"OK"}', base64: '{"result":"OK"}', resp2: "+OK\r\n", resp3: "+OK\r\n" },
  { reply: "OK", json: '{"result":"OK"}', base64: '{"result":"OK"}', resp2: "$2\r\nOK\r\n", resp3: "$2\r\nOK\r\n" },
  {
    reply: Buffer.from("OK"),
    json: '{"result":"OK"}',
    base64: '{"result":"OK"}',
    resp2: "$2\r\nOK\r\n",
    resp3: "$2\r\nOK\r\n",
  },
  { reply: pong, json: '{"result":"PONG"}', base64: '{"result":"UE9ORw=="}', resp2: "+PONG\r\n", resp3: "+PONG\r\n" },
  { reply: null, json: '{"result":null}', base64: '{"result":null}', resp2: "$-1\r\n", resp3: "_\r\n" },
  { reply: nilArray, json: '{"result":null}', base64: '{"result":null}', resp2: "*-1\r\n", resp3: "_\r\n" },
  { reply: 0, json: '{"result":0}', base64: '{"result":0}', resp2: ":0\r\n", resp3: ":0\r\n" },
  { reply: -7, json: '{"result":-7}', base64: '{"result":-7}', resp2: ":-7\r\n", resp3: ":-7\r\n" },
  {
    reply: 9007199254740991,
    json: '{"result":9007199254740991}',
    base64: '{"result":9007199254740991}',
    resp2: ":9007199254740991\r\n",
    resp3: ":9007199254740991\r\n",
  },
  {
    reply: 9007199254740992n,
    json: '{"result":"9007199254740992"}',
    base64: '{"result":"OTAwNzE5OTI1NDc0MDk5Mg=="}',
    resp2: ":9007199254740992\r\n",
    resp3: ":9007199254740992\r\n",
  },
  {
    reply: -9223372036854775808n,
    json: '{"result":"-9223372036854775808"}',
    base64: '{"result":"LTkyMjMzNzIwMzY4NTQ3NzU4MDg="}',
    resp2: ":-9223372036854775808\r\n",
    resp3: ":-9223372036854775808\r\n",
  },
  { reply: 12n, json: '{"result":12}', base64: '{"result":12}', resp2: ":12\r\n", resp3: ":12\r\n" },
  { reply: "", json: '{"result":""}', base64: '{"result":""}', resp2: "$0\r\n\r\n", resp3: "$0\r\n\r\n" },
  {
    reply: 'a"b\\c\nd\x00',
    json: '{"result":"a\\"b\\\\c\\nd\\u0000"}',
    base64: '{"result":"YSJiXGMKZAA="}',
    resp2: '$8\r\na"b\\c\nd\x00\r\n',
    resp3: '$8\r\na"b\\c\nd\x00\r\n',
  },
  {
    reply: "\xc3\xa9 and \xf0\x9f\x98\x80",
    json: '{"result":"\xc3\xa9 and \xf0\x9f\x98\x80"}',
    base64: '{"result":"w6kgYW5kIPCfmIA="}',
    resp2: "$11\r\n\xc3\xa9 and \xf0\x9f\x98\x80\r\n",
    resp3: "$11\r\n\xc3\xa9 and \xf0\x9f\x98\x80\r\n",
  },
  {
    reply: "a\xff\xc3",
    json: '{"result":"a\xef\xbf\xbd\xef\xbf\xbd"}',
    base64: '{"result":"Yf/D"}',
    resp2: "$3\r\na\xff\xc3\r\n",
    resp3: "$3\r\na\xff\xc3\r\n",
  },
  {
    reply: Buffer.from("a\xff", "latin1"),
    json: '{"result":"a\xef\xbf\xbd"}',
    base64: '{"result":"Yf8="}',
    resp2: "$2\r\na\xff\r\n",
    resp3: "$2\r\na\xff\r\n",
  },
  {
    reply: ["OK", ok, 1, null, ["x", []]],
    json: '{"result":["OK","OK",1,null,["x",[]]]}',
    base64: '{"result":["T0s=","T0s=",1,null,["eA==",[]]]}',
    resp2: "*5\r\n$2\r\nOK\r\n+OK\r\n:1\r\n$-1\r\n*2\r\n$1\r\nx\r\n*0\r\n",
    resp3: "*5\r\n$2\r\nOK\r\n+OK\r\n:1\r\n_\r\n*2\r\n$1\r\nx\r\n*0\r\n",
  },
  { reply: [], json: '{"result":[]}', base64: '{"result":[]}', resp2: "*0\r\n", resp3: "*0\r\n" },
  { reply: double(3), json: '{"result":"3"}', base64: '{"result":"Mw=="}', resp2: "$1\r\n3\r\n", resp3: ",3\r\n" },
  {
    reply: double(0.5),
    json: '{"result":"0.5"}',
    base64: '{"result":"MC41"}',
    resp2: "$3\r\n0.5\r\n",
    resp3: ",0.5\r\n",
  },
  {
    reply: double(Number.POSITIVE_INFINITY),
    json: '{"result":"inf"}',
    base64: '{"result":"aW5m"}',
    resp2: "$3\r\ninf\r\n",
    resp3: ",inf\r\n",
  },
  {
    reply: map([
      ["f", "v"],
      ["g", [1]],
    ]),
    json: '{"result":["f","v","g",[1]]}',
    base64: '{"result":["Zg==","dg==","Zw==",[1]]}',
    resp2: "*4\r\n$1\r\nf\r\n$1\r\nv\r\n$1\r\ng\r\n*1\r\n:1\r\n",
    resp3: "%2\r\n$1\r\nf\r\n$1\r\nv\r\n$1\r\ng\r\n*1\r\n:1\r\n",
  },
  {
    reply: pairs([
      ["s", ["e"]],
      ["t", []],
    ]),
    json: '{"result":[["s",["e"]],["t",[]]]}',
    base64: '{"result":[["cw==",["ZQ=="]],["dA==",[]]]}',
    resp2: "*2\r\n*2\r\n$1\r\ns\r\n*1\r\n$1\r\ne\r\n*2\r\n$1\r\nt\r\n*0\r\n",
    resp3: "%2\r\n$1\r\ns\r\n*1\r\n$1\r\ne\r\n$1\r\nt\r\n*0\r\n",
  },
  {
    reply: flatPairs(["m", double(1), "n", double(2)]),
    json: '{"result":["m","1","n","2"]}',
    base64: '{"result":["bQ==","MQ==","bg==","Mg=="]}',
    resp2: "*4\r\n$1\r\nm\r\n$1\r\n1\r\n$1\r\nn\r\n$1\r\n2\r\n",
    resp3: "*2\r\n*2\r\n$1\r\nm\r\n,1\r\n*2\r\n$1\r\nn\r\n,2\r\n",
  },
  {
    reply: { kind: "double", value: 0.1, text: "0.1000000" },
    json: '{"result":"0.1000000"}',
    base64: '{"result":"MC4xMDAwMDAw"}',
    resp2: "$9\r\n0.1000000\r\n",
    resp3: ",0.1000000\r\n",
  },
  {
    reply: set(["a"]),
    json: '{"result":["a"]}',
    base64: '{"result":["YQ=="]}',
    resp2: "*1\r\n$1\r\na\r\n",
    resp3: "~1\r\n$1\r\na\r\n",
  },
  {
    reply: arrayInResp3([2, null], "[2,null]"),
    json: '{"result":"[2,null]"}',
    base64: '{"result":"WzIsbnVsbF0="}',
    resp2: "$8\r\n[2,null]\r\n",
    resp3: "*2\r\n:2\r\n_\r\n",
  },
  {
    reply: [arrayInResp3([["a"]], ["a"]), 1],
    json: '{"result":[["a"],1]}',
    base64: '{"result":[["YQ=="],1]}',
    resp2: "*2\r\n*1\r\n$1\r\na\r\n:1\r\n",
    resp3: "*2\r\n*1\r\n*1\r\n$1\r\na\r\n:1\r\n",
  },
  {
    reply: { kind: "boolean", value: true },
    json: '{"result":1}',
    base64: '{"result":1}',
    resp2: ":1\r\n",
    resp3: "#t\r\n",
  },
  {
    reply: verbatim("hi"),
    json: '{"result":"hi"}',
    base64: '{"result":"aGk="}',
    resp2: "$2\r\nhi\r\n",
    resp3: "=6\r\ntxt:hi\r\n",
  },
  {
    reply: simple("string"),
    json: '{"result":"string"}',
    base64: '{"result":"c3RyaW5n"}',
    resp2: "+string\r\n",
    resp3: "+string\r\n",
  },
  {
    reply: wrongType,
    json: '{"error":"WRONGTYPE no"}',
    base64: '{"error":"WRONGTYPE no"}',
    resp2: "-WRONGTYPE no\r\n",
    resp3: "-WRONGTYPE no\r\n",
  },
  {
    reply: errorReply(new CommandError("ERR a\r\nb\xff\u0178")),
    json: '{"error":"ERR a\\r\\nb\xc3\xbf\xc5\xb8"}',
    base64: '{"error":"ERR a\\r\\nb\xc3\xbf\xc5\xb8"}',
    resp2: "-ERR a  b\xc3\xbf\xc5\xb8\r\n",
    resp3: "-ERR a  b\xc3\xbf\xc5\xb8\r\n",
  },
  {
    reply: [wrongType],
    json: '{"result":["WRONGTYPE no"]}',
    base64: '{"result":["V1JPTkdUWVBFIG5v"]}',
    resp2: "*1\r\n-WRONGTYPE no\r\n",
    resp3: "*1\r\n-WRONGTYPE no\r\n",
  },
];

for (const { reply, json, base64, resp2, resp3 } of rows) {
  // A.json-types
  test(`reply ${json} in every form`, () => {
    assert.equal(utf8Of(jsonResult(reply, MAX)), json);
    assert.equal(utf8Of(base64Result(reply, MAX)), base64);
    assert.equal(resp2Result(reply, MAX), resp2);
    assert.equal(resp3Result(reply, MAX), resp3);
  });
}

test("invalid UTF-8 becomes U+FFFD, string by string, and valid UTF-8 stays", () => {
  const rows: [string[], string][] = [
    [["a\xe9"], '["a\xef\xbf\xbd"]'],
    [["\xc3", "\xa9"], '["\xef\xbf\xbd","\xef\xbf\xbd"]'],
    [["\xc3\xa9", "\xff", "\xf0\x9f\x98\x80"], '["\xc3\xa9","\xef\xbf\xbd","\xf0\x9f\x98\x80"]'],
    [["\xf0\x9f\x98"], '["\xef\xbf\xbd"]'],
    [["\xed\xa0\xbd"], '["\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"]'],
    [["\x7f\x80"], '["\x7f\xef\xbf\xbd"]'],
  ];
  for (const [reply, json] of rows) assert.equal(utf8Of(jsonResult(reply, MAX)), `{"result":${json}}`);
});

test("any bytes print as the JSON of their text", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (members) => {
      const text = JSON.stringify({ result: members.map((bytes) => Buffer.from(bytes).toString("utf8")) });
      const printed = utf8Of(
        jsonResult(
          members.map((bytes) => Buffer.from(bytes).latin1Slice()),
          MAX,
        ),
      );
      assert.equal(Buffer.from(printed, "latin1").toString("utf8"), text);
    }),
  );
});

test("a deeply nested reply does not overflow the stack", () => {
  const depth = 100_000;
  let reply: Reply = 1;
  for (let i = 0; i < depth; i += 1) reply = [reply];

  assert.equal(jsonResult(reply, MAX), `{"result":${"[".repeat(depth)}1${"]".repeat(depth)}}`);
  assert.equal(base64Result(reply, MAX), `{"result":${"[".repeat(depth)}1${"]".repeat(depth)}}`);
  assert.equal(resp2Result(reply, MAX), `${"*1\r\n".repeat(depth)}:1\r\n`);
});

test("A-15: a reply beyond its budget is an error", () => {
  const cases: [Reply, number][] = [
    ["x".repeat(1_000), 900],
    [Buffer.alloc(1_000), 900],
    [new Array<Reply>(1_000).fill("x"), 900],
    [[[["x".repeat(1_000)]]], 900],
  ];
  for (const [reply, bytesMax] of cases) {
    for (const print of [jsonResult, base64Result, resp2Result, resp3Result]) {
      assert.throws(
        () => print(reply, bytesMax),
        (thrown) => thrown instanceof CommandError && thrown.text === "ERR reply exceeds the maximum allowed size",
      );
    }
  }
});

const tooLarge = (thrown: unknown): boolean =>
  thrown instanceof CommandError && thrown.text === "ERR reply exceeds the maximum allowed size";

test("A-15: refuses a string that V8 could not print or hold, by its length", () => {
  // Untouched pages of zeros take no memory. Quoting 300 MB ends the process; 2^29 - 23 bytes do not fit a string.
  for (const length of [300_000_000, 536_870_889, 536_870_912]) {
    const reply = Buffer.alloc(length);
    for (const print of [jsonResult, base64Result, resp2Result, resp3Result])
      for (const nested of [reply, [reply]]) assert.throws(() => print(nested, 268_435_456), tooLarge, `${length}`);
  }
});

test("A-15: counts the escapes of a string before all of it is printed", () => {
  assert.throws(() => jsonResult("\x00".repeat(3_000_000), 17_999_999), tooLarge);
  assert.equal(jsonResult("\x00".repeat(3_000_000), 18_000_002).length, 18_000_013);
});

test("a string in pieces prints the same as at once", () => {
  for (const bytes of ["a".repeat(2 ** 20), "a".repeat(2 ** 20 + 1), '"\\\n\x00\xe9'.repeat(500_000)]) {
    const text = `{"result":${JSON.stringify(bytes)}}`;
    assert.ok(jsonResult(bytes, 2 ** 28) === text);
    assert.ok(jsonResult(Buffer.from(bytes, "latin1"), 2 ** 28) === text);
  }
});

test("invalid UTF-8 becomes U+FFFD at any end of a piece", () => {
  for (const unit of ["\xf0\x9f\x98\x80", "\xe2\x82\xac\xff", "\x80", "\xf0\x9f", "a\xed\xa0\xbd"]) {
    for (const shift of [0, 1, 2, 3]) {
      const bytes = `${"\xff"}${"a".repeat(shift)}${unit.repeat(400_000)}`;
      const text = Buffer.from(bytes, "latin1").toString("utf8");
      assert.ok(Buffer.from(utf8Of(bytes), "latin1").equals(Buffer.from(text)), `${unit} ${shift}`);
    }
  }
});

test("A-15: U+FFFD counts as three bytes", () => {
  assert.equal(utf8Of("\xff".repeat(10), 30).length, 30);
  assert.throws(() => utf8Of("\xff".repeat(10), 29), tooLarge);
});

test("A-15: prints a string within the budget that V8 cannot quote at once", () => {
  const text = jsonResult(Buffer.alloc(268_435_452, "a"), 268_435_456);
  assert.equal(text.length, 268_435_465);
  assert.equal(text.slice(-4), 'aa"}');
});
