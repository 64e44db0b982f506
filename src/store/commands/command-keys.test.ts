/**
 * Random commands of all families touch only keys that `findKeys` finds, and
 * change only keys that it marks as written. So a user cannot bypass the key
 * rights, which use these keys.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, spending } from "../../../test/budget.ts";
import { KEYS } from "../../../test/differential/draw.ts";
import { jsonFamily } from "../../../test/differential/families/json.ts";
import { families } from "../../../test/differential/families.ts";
import { drawProgram } from "../../../test/differential/programs.ts";
import { seedFrom } from "../../../test/harness/seed.ts";
import { joinLine, startSession } from "../../../test/harness/store-harness.ts";
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import type { Command } from "../command.ts";
import type { Database } from "../database.ts";
import { findKeys, hasKeys } from "./command-keys.ts";

const first = seedFrom("LARDER_COMMAND_KEYS_SEED");

/** Collects the keys that are looked up and changed from now on. */
function watch({ keyspace }: Database): { touched: Set<Bytes>; changed: Set<Bytes> } {
  const touched = new Set<Bytes>();
  const changed = new Set<Bytes>();
  const { entries } = keyspace;
  const { find, get, has } = entries;
  entries.find = (key) => {
    touched.add(key);
    return find.call(entries, key);
  };
  entries.get = (key) => {
    touched.add(key);
    return get.call(entries, key);
  };
  entries.has = (key) => {
    touched.add(key);
    return has.call(entries, key);
  };
  keyspace.onChange = (key) => {
    if (key !== undefined) changed.add(key);
  };
  return { touched, changed };
}

/** The keys that the next look-up will remove. */
function expiredKeys({ keyspace }: Database): ReadonlySet<Bytes> {
  return new Set(KEYS.filter((key) => (keyspace.expiries.get(key) ?? Number.POSITIVE_INFINITY) <= keyspace.nowMs));
}

function findCommand(database: Database, words: readonly Bytes[]): Command | undefined {
  const command = database.findCommand(words[0] ?? "");
  return command?.subcommandByName?.get(upperCase(words[1] ?? "")) ?? command;
}

// Commands that scripts call are checked on their own.
for (const family of [...families, jsonFamily].filter(({ name }) => name !== "scripting")) {
  test(`${family.name}: commands touch only the keys that are found among their words`, () => {
    const isSpent = spending(allowanceOf("command-keys"));
    for (let seed = first; !isSpent(seed - first); seed += 1) {
      const session = startSession();
      const { database } = session;
      const { touched, changed } = watch(database);
      for (const words of drawProgram(family, { seed, extensions: true }).steps.flat()) {
        const expired = expiredKeys(database);
        touched.clear();
        changed.clear();
        session.call(...words);
        const command = findCommand(database, words);
        if (command === undefined || !hasKeys(command)) continue;
        const { keys } = findKeys(command, words);
        const what = `${joinLine(words)} (seed ${seed})`;
        const named = new Set(keys.map(({ key }) => key));
        // BY and GET of SORT require the right to read all keys.
        const readsUnnamed = /^SORT/i.test(words[0] ?? "");
        if (!readsUnnamed) for (const key of touched) assert.ok(named.has(key), `${what} touched ${key}`);
        // A read may store a computed form, and every look-up removes an expired value.
        if (!command.isWrite) continue;
        const written = new Set(keys.flatMap(({ key, use }) => (use.isWritten ? [key] : [])));
        for (const key of changed) assert.ok(written.has(key) || expired.has(key), `${what} changed ${key}`);
      }
    }
  });
}
