/** Parsing and printing of documents: literal tables, and a comparison with the parser of the kernel. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bytesFromText } from "../../kernel/bytes.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { CommandError, replyTooLarge } from "../errors.ts";
import { parseJson } from "./parse.ts";
import { JsonPrinter, textOfNode } from "./print.ts";

function again(text: string): string {
  return textOfNode(parseJson(bytesFromText(text)).node);
}

function failureOf(text: string): string {
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof CommandError) return error.text;
  }
  return assert.fail(`${text} is refused`);
}

test("prints documents compactly, with only the necessary escapes", () => {
  const table: readonly (readonly [text: string, printed: string])[] = [
    [" null ", "null"],
    ["\t[ true ,\n false\r, {} ,[]]", "[true,false,{},[]]"],
    ['{"b":1,"a":{"c":[1,2.0]}}', '{"b":1,"a":{"c":[1,2.0]}}'],
    ['"\\u0041\\/\\n\\u001f\\"\\\\"', '"A/\\n\\u001f\\"\\\\"'],
    ['"\\u20ac and €"', bytesFromText('"€ and €"')],
    ['"\\ud83d\\ude00"', bytesFromText('"😀"')],
    ['"\\ud83d"', bytesFromText('"\ufffd"')],
    ['"\\ude00\\ud83d\\u0041"', bytesFromText('"\ufffd\ufffdA"')],
    ['"a string that is longer than a slice"', '"a string that is longer than a slice"'],
    ['"a string that is longer\\tthan a slice"', '"a string that is longer\\tthan a slice"'],
    ['""', '""'],
    ["[-0,1.0,100,1e2]", "[-0.0,1.0,100,100.0]"],
    ['{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'],
    ['{"":{"":""}}', '{"":{"":""}}'],
  ];
  for (const [text, printed] of table) assert.equal(again(text), printed, text);
});

test("A-11: names that JavaScript objects inherit are data", () => {
  const text = '{"__proto__":{"polluted":1},"constructor":2,"prototype":3,"toString":4,"hasOwnProperty":5,"":6}';
  assert.equal(again(text), text);
  assert.equal(Reflect.get({}, "polluted"), undefined);
});

test("rejects invalid JSON, with the position", () => {
  const table: readonly (readonly [text: string, failure: string])[] = [
    ["", "ERR Invalid JSON at character 1: expected a value"],
    ["hello", "ERR Invalid JSON at character 1: expected a value"],
    ["nul", "ERR Invalid JSON at character 1: expected a value"],
    ["[1,]", "ERR Invalid JSON at character 4: expected a value"],
    ["[1 2]", 'ERR Invalid JSON at character 4: expected "," or "]"'],
    ['{"a" 1}', 'ERR Invalid JSON at character 6: expected ":"'],
    ["{a:1}", "ERR Invalid JSON at character 2: expected a name in double quotes"],
    ['{"a":1,}', "ERR Invalid JSON at character 8: expected a name in double quotes"],
    ["1 2", "ERR Invalid JSON at character 3: expected the end"],
    ["01", "ERR Invalid JSON at character 1: leading zero"],
    ["1.", "ERR Invalid JSON at character 3: expected a digit"],
    ["1e", "ERR Invalid JSON at character 3: expected a digit"],
    ["-", "ERR Invalid JSON at character 1: expected a value"],
    ["+1", "ERR Invalid JSON at character 1: expected a value"],
    [".5", "ERR Invalid JSON at character 1: expected a value"],
    ["NaN", "ERR Invalid JSON at character 1: expected a value"],
    ["1e999", "ERR Invalid JSON at character 1: number out of range"],
    ['"', "ERR Invalid JSON at character 2: open string"],
    ['"a\\', "ERR Invalid JSON at character 4: unknown escape"],
    ['"\\x"', "ERR Invalid JSON at character 3: unknown escape"],
    ['"\\u12g4"', "ERR Invalid JSON at character 4: expected four hexadecimal digits"],
    ['"\n"', "ERR Invalid JSON at character 2: control character"],
    ["'a'", "ERR Invalid JSON at character 1: expected a value"],
    ["\x00", "ERR Invalid JSON at character 1: expected a value"],
    ['"\xff"', "ERR Couldn't parse as UTF-8 string"],
  ];
  for (const [text, failure] of table) assert.equal(failureOf(text), failure, JSON.stringify(text));
});

test("A-14: a document nests 128 levels deep, and no more", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assert.equal(parseJson(nested(128)).depth, 128);
  assert.equal(again(nested(128)), nested(128));
  assert.equal(failureOf(nested(129)), "ERR Invalid JSON at character 129: nested deeper than 128");
  assert.equal(failureOf("[".repeat(1_000_000)), "ERR Invalid JSON at character 129: nested deeper than 128");
  assert.equal(parseJson('{"a":[1,{"b":[]}],"c":1}').depth, 4);
});

test("printing follows the layout and stops at its budget", () => {
  const { node } = parseJson('{"a":[1,{}],"b":"x"}');
  const printer = new JsonPrinter({ indent: "--", newline: "|", space: "_" });
  printer.node(node);
  assert.equal(printer.text, '{|--"a":_[|----1,|----{}|--],|--"b":_"x"|}');

  for (const bytesMax of [0, 5, 19])
    assert.throws(
      () => new JsonPrinter(undefined, bytesMax).node(node),
      (error) => error === replyTooLarge,
    );
  const exact = new JsonPrinter(undefined, 20);
  exact.node(node);
  assert.equal(exact.text.length, 20);
  assert.throws(
    () => new JsonPrinter({ indent: "x".repeat(50), newline: "", space: "" }, 100).node(node),
    (error) => error === replyTooLarge,
  );
});

/** Halves of pairs are no characters. A backslash before `ud8…` may be the second one of an escaped backslash. */
const ESCAPED = /\\\\|\\ud[89a-f][\da-f]{2}/gi;

test("reads any document as the parser of the kernel does", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom("", " ", "\t"), (text, indent) => {
      const given = JSON.stringify(parseJsonText(text), null, indent);
      const printed = again(given);
      const back = Buffer.from(printed, "latin1").toString("utf8");
      assert.deepEqual(
        parseJsonText(back),
        parseJsonText(given.replaceAll(ESCAPED, (each) => (each === "\\\\" ? each : "\ufffd"))),
      );
      assert.equal(again(back), printed);
    }),
  );
});
