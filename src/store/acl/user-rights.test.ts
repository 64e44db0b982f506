/**
 * The rules that ACL LIST and GETUSER print, and those in the journal, lead to
 * the same rights as the original rules: random rules, applied again.
 *
 * A failing seed is in the message; put it into SEEDS to run it alone.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Draw } from "../../../test/differential/draw.ts";
import { drawRules, namesOfRules } from "../../../test/differential/drawn-rules.ts";
import { looked, read, readAndUpdated, updated } from "../commands/command-keys.ts";
import { commands } from "../commands/table.ts";
import { commandTableOf } from "./command-table.ts";
import { UserRights } from "./user-rights.ts";

const SEEDS = Array.from({ length: 100 }, (_, index) => index + 1);
const CHANGES = 6;

const table = commandTableOf(commands);
const names = namesOfRules(commands);
const vocabulary = { commands: names, categories: table.categories };
const context = { isToken: () => false };
const KEYS = ["a", "b", "ab", "key:5", "", "other", "\\a"];
const CHANNELS = ["news", "news.a", "other", "*", "n*"];

/** All decisions of the rights, by selector. */
function decisionsOf(rights: UserRights): unknown {
  return {
    flags: rights.flags,
    passwords: rights.passwords,
    selectors: rights.selectors.map((selector) => ({
      mayReadAllKeys: selector.mayReadAllKeys,
      commands: names.flatMap((name) => {
        const command = table.find(name);
        assert.ok(command !== undefined);
        return [[name], [name, "a"], [name, "A"], [name, "b"], [name, "0"]].map((words) =>
          selector.commands.allows(command, words),
        );
      }),
      keys: KEYS.flatMap((key) => [looked, read, updated, readAndUpdated].map((use) => selector.mayUse(key, use))),
      channels: CHANNELS.flatMap((channel) => [true, false].map((isPattern) => selector.mayListen(channel, isPattern))),
    })),
  };
}

test("the printed rules of a user give the same rights", () => {
  for (const seed of SEEDS) {
    const draw = new Draw(seed);
    let rights = new UserRights(table);
    for (let change = 0; change < CHANGES; change += 1) {
      const changed = rights.copy();
      const before = rights.describe();
      // ACL SETUSER joins words; here each rule is one word.
      const faults = drawRules(draw, vocabulary).map((rule) => changed.apply(rule, context));
      assert.deepEqual(rights.describe(), before, `seed ${seed}: a copy is a copy`);
      if (faults.every((fault) => fault === undefined)) rights = changed;
      const again = new UserRights(table);
      for (const rule of rights.describe("stored"))
        assert.equal(again.apply(rule, context), undefined, `seed ${seed}: ${rule} is a rule`);
      assert.deepEqual(decisionsOf(again), decisionsOf(rights), `seed ${seed}: ${rights.describe().join(" ")}`);
      assert.deepEqual(again.describe(), rights.describe(), `seed ${seed}`);
    }
  }
});

test("rules on commands never exceed the number of names", () => {
  const rights = new UserRights(table);
  const [selector] = rights.selectors;
  for (let round = 0; round < 3; round += 1)
    for (const name of names) for (const sign of ["+", "-"]) rights.apply(sign + name, context);
  assert.ok((selector?.commands.ruleCount ?? 0) <= names.length);
});
