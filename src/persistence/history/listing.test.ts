/**
 * Compares listings with a plain filter over an array.
 *
 * Random histories print their seed; replay one by giving the printed seed and path to `fc.assert`.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { History } from "./history.ts";
import { compareKeys, type HistoryQuery } from "./query.ts";
import type { HistoryEntry, HistoryMessage } from "./record.ts";

const LAST_STATE = 4;
const NAMES = ["url", "label", "queueName"];
const VALUES = ["a", "b", "c", "d"];

interface PlainEntry extends HistoryEntry {
  readonly number: number;
}

/** The expected contents of the history, with the same queries. */
class PlainHistory {
  readonly messages = new Map<number, HistoryMessage>();
  entries: PlainEntry[] = [];
  #count = 0;

  write(messages: readonly HistoryMessage[], entries: readonly HistoryEntry[]): void {
    for (const message of messages) this.messages.set(message.message, message);
    for (const entry of entries) {
      if (!this.messages.has(entry.message)) continue;
      this.#count += 1;
      this.entries.push({ ...entry, number: this.#count });
    }
  }

  removeBefore(timeMs: number): void {
    const ended = this.entries.filter(({ state, timeMs: at }) => state === LAST_STATE && at < timeMs);
    for (const { message } of ended) this.messages.delete(message);
    this.entries = this.entries.filter((entry) => entry.timeMs >= timeMs && this.messages.has(entry.message));
  }

  list({ user, messageIds, states, attributes, fromMs = 0, toMs = Number.MAX_VALUE, order }: HistoryQuery): string[] {
    const sign = order === "latest first" ? -1 : 1;
    return this.entries
      .filter(({ message, state, timeMs }) => {
        const known = this.messages.get(message);
        return (
          known?.user === user &&
          (messageIds?.includes(known.id) ?? true) &&
          (states?.includes(state) ?? true) &&
          timeMs >= fromMs &&
          timeMs <= toMs &&
          [...attributes].every(([name, values]) =>
            known.attributes.some((pair) => pair[0] === name && values.includes(pair[1])),
          )
        );
      })
      .sort((a, b) => sign * compareKeys(a, b))
      .map(nameOf);
  }
}

const attribute = fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...VALUES));
const step = fc.record({
  attributes: fc.array(attribute, { maxLength: 4 }),
  user: fc.integer({ min: 1, max: 2 }),
  /** The number of such messages, one ms apart. */
  repeat: fc.constantFrom(1, 1, 1, 5, 40),
  /** A clock that sometimes steps back. */
  stepMs: fc.constantFrom(0, 1, 1, 3, 50, -1, -30),
  /** Which message enters which state, counted back from the newest. */
  moves: fc.array(fc.tuple(fc.nat(30), fc.constantFrom(1, 2, 3, LAST_STATE)), { maxLength: 6 }),
  removeMs: fc.option(fc.nat(60), { freq: 12 }),
});
const values = fc.subarray([...VALUES, "none"]);
const query: fc.Arbitrary<HistoryQuery> = fc
  .record(
    {
      user: fc.integer({ min: 1, max: 2 }),
      messageIds: fc.array(
        fc.nat(60).map((n) => `msg_${n}`),
        { maxLength: 4 },
      ),
      states: fc.subarray([0, 1, 2, 3, 4, 9]),
      attributes: fc.dictionary(fc.constantFrom(...NAMES), values).map((record) => new Map(Object.entries(record))),
      fromMs: fc.nat(300),
      toMs: fc.nat(300),
      order: fc.constantFrom("latest first" as const, "earliest first" as const),
      count: fc.constantFrom(1, 2, 7, 100),
    },
    { requiredKeys: ["user", "attributes", "order", "count"] },
  )
  .map((drawn) => drawn as HistoryQuery);

test("a listing equals a filter over all entries, page after page", () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 12 }),
      fc.array(query, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(1, 3, 8, 64),
      (steps, queries, partitionEntries) => {
        const history = History.open(":memory:", { lastStates: [LAST_STATE], partitionEntries });
        const plain = new PlainHistory();
        let nowMs = 100;
        let count = 0;
        for (const [index, { attributes, user, repeat, stepMs, moves, removeMs }] of steps.entries()) {
          nowMs = Math.max(0, nowMs + stepMs);
          const messages: HistoryMessage[] = [];
          const entries: HistoryEntry[] = [];
          for (let i = 0; i < repeat; i += 1) {
            messages.push({ message: count, user, id: `msg_${count}`, attributes, detail: Buffer.of(1) });
            entries.push({ message: count, timeMs: nowMs + i, state: 0, detail: Buffer.from(`created ${count}`) });
            count += 1;
          }
          for (const [back, state] of moves) {
            const message = count - 1 - back;
            // Nothing follows a final state.
            const isOver = [...plain.entries, ...entries].some(
              (entry) => entry.message === message && entry.state === LAST_STATE,
            );
            if (!isOver)
              entries.push({
                message,
                timeMs: nowMs + repeat,
                state,
                detail: Buffer.from(`${index}, ${entries.length}`),
              });
          }
          history.write({ messages, entries, position: index + 1 });
          plain.write(messages, entries);
          if (removeMs !== null) {
            while (history.removeBefore(nowMs - removeMs));
            plain.removeBefore(nowMs - removeMs);
          }
        }
        for (const asked of queries) assert.deepEqual(listAll(history, asked), plain.list(asked));
        history.close();
      },
    ),
    { numRuns: 300 },
  );
});

/** The names of all entries, page after page. */
function listAll(history: History, query: HistoryQuery): string[] {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page = history.list({ ...query, ...(cursor !== undefined && { cursor }) });
    assert.ok(page.entries.length <= query.count);
    names.push(...page.entries.map(({ entry }) => nameOf(entry)));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return names;
}

/** Each entry's detail is its own. */
function nameOf({ detail }: HistoryEntry): string {
  return Buffer.from(detail ?? []).toString();
}
