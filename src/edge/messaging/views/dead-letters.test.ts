import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessagingApi, Page } from "../../../messaging/api.ts";
import type { DeadLetter } from "../../../messaging/state/dead-letters.ts";
import { readLetters } from "./dead-letters.ts";

const MB = 1024 * 1024;

/** A messaging API with dead letters of these sizes in MB: body and answer. */
function doorOf(sizes: readonly (readonly [body: number, response: number])[]): MessagingApi {
  const all = sizes.map(([body, response]) => ({
    body: { length: body * MB },
    responseBody: { length: response * MB },
  }));
  const deadLetters = (_filter: unknown, { count }: Page) => ({
    deadLetters: all.slice(0, count) as unknown as DeadLetter[],
    cursor: count < all.length ? String(count) : undefined,
  });
  return { deadLetters } as unknown as MessagingApi;
}

test("a page of dead letters ends when its bodies are too long together, and has at least one", () => {
  for (const [sizes, count, cursor] of [
    [
      [
        [10, 10],
        [10, 1],
        [1, 1],
      ],
      2,
      "2",
    ],
    [
      [
        [10, 100],
        [1, 1],
      ],
      1,
      "1",
    ],
    [
      [
        [10, 10],
        [1, 1],
      ],
      2,
      undefined,
    ],
  ] as const) {
    const page = { order: "earliest first", count: 100 } as const;
    const found = readLetters(doorOf(sizes), { attributes: new Map() }, page);
    assert.deepEqual([found.deadLetters.length, found.cursor], [count, cursor]);
  }
});
