import assert from "node:assert/strict";
import { test } from "node:test";
import { LuaTokens, Token } from "./tokens.ts";

const names = new Map<Token, string>(Object.entries(Token).map(([name, token]) => [token, name]));

/** The tokens of a source, with the text of names, strings and numbers. */
function tokensOf(source: string): string {
  const tokens = new LuaTokens(source);
  const found: string[] = [];
  for (let token = tokens.next(); token !== Token.end; token = tokens.next()) {
    const hasText = token === Token.name || token === Token.string || token === Token.number;
    found.push(hasText ? `${names.get(token)}<${tokens.text()}>` : (names.get(token) ?? "?"));
  }
  return found.join(" ");
}

const rows: readonly [source: string, tokens: string][] = [
  ["local a, b = 1", "local name<a> comma name<b> assign number<1>"],
  ["a==b ~= c<=d>=e", "name<a> other name<b> other name<c> other name<d> other name<e>"],
  ["a.b:c(...) .. d", "name<a> dot name<b> dot name<c> open other close other name<d>"],
  ["x={[1]='a';}", "name<x> assign open open number<1> close assign string<a> separator close"],
  ["0x1F 3.14e-2 .5 3..2 1e5", "number<0x1F> number<3.14e-2> number<.5> number<3..2> number<1e5>"],
  ["-- and or\nand --[[ or\n or ]] or --[==[ ]] ]==]not --", "and or other"],
  ["--[=and\nor", "or"],
  ["[[ a\nb ]] [==[]]]==]", "string< a\nb > string<]]>"],
  ["[[\n]] [[\r\na\rb]] [=[", "string<> string<a\nb> string<>"],
  ["'and' \"or\\\"\" 'a\\'b'", "string<and> string<or\"> string<a'b>"],
  ["'\\65\\0662\\n\\q\\\r\nx'", "string<AB2\nq\nx>"],
  ["'unfinished\nand", "other"],
  ["functional _end endif end", "name<functional> name<_end> name<endif> end_"],
  ["a[b] a[[b]]", "name<a> open name<b> close name<a> string<b>"],
  ["\xe9 ! and", "other other and"],
  [
    "while x do repeat until nil for i in y do break end",
    "while name<x> do repeat until other for name<i> word name<y> do break end_",
  ],
];

for (const [source, tokens] of rows)
  test(`tokens of ${JSON.stringify(source)}`, () => {
    assert.equal(tokensOf(source), tokens);
  });

test("the line of a token is the line of its start", () => {
  const tokens = new LuaTokens("a\nb [[\n\n]] c");
  const lines: number[] = [];
  while (tokens.next() !== Token.end) lines.push(tokens.line);
  assert.deepEqual(lines, [1, 2, 2, 4]);
});
