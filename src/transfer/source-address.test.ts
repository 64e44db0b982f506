/** The source of an import: addresses, files and tokens. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readSourceAddress, SOURCE_TOKEN } from "./source-address.ts";

function read(place: string, token?: string, variable?: string) {
  const lines: string[] = [];
  const options = new Map(variable === undefined ? [] : [[SOURCE_TOKEN, variable]]);
  return { address: readSourceAddress(place, token, { options, print: (line) => lines.push(line) }), lines };
}

test("an address loses its slash and keeps its path, and everything else is a file", () => {
  assert.deepEqual(read("https://a.test/", undefined, "t"), {
    address: { base: "https://a.test", token: "t" },
    lines: [],
  });
  assert.deepEqual(read("HTTP://a.test:8080/vector/", undefined, "t").address, {
    base: "http://a.test:8080/vector",
    token: "t",
  });
  assert.equal(read("https.ndjson").address, undefined);
});

test("a token among the arguments has precedence and causes a hint that does not repeat it", () => {
  const { address, lines } = read("https://a.test", "secret", "other");
  assert.equal(address?.token, "secret");
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /^hint: arguments are visible to every user of this machine; set LARDER_SOURCE_TOKEN/);
  assert.ok(!lines[0]?.includes("secret"));
});

test("refuses an invalid source in a sentence without secrets", () => {
  const rows: readonly (readonly [place: string, token: string | undefined, message: string])[] = [
    ["https://a.test", undefined, "The token of the source is missing: set LARDER_SOURCE_TOKEN to it"],
    ["https://a.test", "se cret", "The token of the source contains invalid characters"],
    ["https://u:p@a.test", "t", "The address of the source must be a URL without user, query and fragment"],
    ["https://a.test/?token=x", "t", "The address of the source must be a URL without user, query and fragment"],
    ["https://", "t", "The address of the source must be a URL without user, query and fragment"],
    ["file.json", "t", "A file needs no token; the address of a server must begin with https://"],
  ];
  for (const [place, token, message] of rows)
    assert.throws(() => read(place, token), { name: "StartRefusal", message, exitCode: 2 }, place);
});
