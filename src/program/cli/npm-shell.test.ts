import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { watchNpmShell } from "./npm-shell.ts";

const cases: readonly (readonly [
  name: string,
  script: string | undefined,
  words: string[] | undefined,
  ends: number,
])[] = [
  ["ends with the shell of npm run", "larder dev", ["sh", "-c", "larder dev", ""], 1],
  ["ends with the shell of npx, which quotes the command", "'larder'", ["sh", "-c", "'larder' dev --port 80", ""], 1],
  ["ends with the shell of a longer script", "larder dev && echo", ["sh", "-c", "larder dev && echo", ""], 1],
  ["outlives a shell that puts it in the background", "larder dev &", ["sh", "-c", "larder dev &", ""], 0],
  ["outlives a program that npm runs", "node start.js", ["node", "start.js", ""], 0],
  ["outlives a shell without npm", undefined, ["sh", "-c", "larder dev", ""], 0],
  ["outlives a parent whose arguments are unknown", "larder dev", undefined, 0],
];

for (const [name, script, words, ends] of cases) {
  test(`a server ${name}`, () => {
    const clock = new VirtualClock();
    let parent = 7;
    let ended = 0;
    watchNpmShell({
      clock,
      onEnd: () => {
        ended += 1;
      },
      environment: { npm_lifecycle_script: script },
      parentId: () => parent,
      readArguments: (pid) => (pid === 7 ? words : undefined),
      readParent: () => 6,
    });
    clock.advance(10_000);
    assert.equal(ended, 0);
    parent = 1;
    clock.advance(1_000);
    assert.equal(ended, ends);
  });
}

test("a server ends with npm, even if the shell stays", () => {
  const clock = new VirtualClock();
  let npm = 6;
  let ended = 0;
  watchNpmShell({
    clock,
    onEnd: () => {
      ended += 1;
    },
    environment: { npm_lifecycle_script: "larder dev" },
    parentId: () => 7,
    readArguments: () => ["sh", "-c", "larder dev", ""],
    readParent: (pid) => (pid === 7 ? npm : undefined),
  });
  clock.advance(10_000);
  assert.equal(ended, 0);
  npm = 1;
  clock.advance(1_000);
  assert.equal(ended, 1);
});
