import assert from "node:assert/strict";
import { test } from "node:test";
import { startChild } from "./child-command.ts";

const cases: readonly (readonly [name: string, words: readonly string[], code: number])[] = [
  ["has the environment, and its exit code is kept", ["sh", "-c", 'test "$QSTASH_URL" = http://m:1 && exit 7'], 7],
  ["that a signal ends has the code of a shell", ["sh", "-c", "kill -TERM $$"], 143],
  ["that does not exist has the code 127", ["larder-has-no-such-command"], 127],
  ["that is not executable has the code 126", [import.meta.dirname], 126],
];

for (const [name, words, code] of cases) {
  test(`a command ${name}`, async () => {
    const printed: string[] = [];
    const print = (line: string): void => void printed.push(line);
    assert.equal(await startChild(words, { environment: { QSTASH_URL: "http://m:1" }, print }).ended, code);
    assert.equal(printed.length, code === 127 || code === 126 ? 1 : 0);
  });
}

test("the first signal goes to the command, and the second kills it", async () => {
  const child = startChild(["sleep", "1000"], { environment: {}, print: () => {} });
  child.signal("SIGTERM");
  assert.equal(await child.ended, 143);
  const stubborn = startChild(["sleep", "1000"], { environment: {}, print: () => {}, isInForeground: true });
  stubborn.signal("SIGINT");
  stubborn.signal("SIGINT");
  assert.equal(await stubborn.ended, 137);
});
