import assert from "node:assert/strict";
import { test } from "node:test";
import { CallerAccounts } from "./caller-accounts.ts";

test("an address has one account while others ask, and another one after ten thousand others", () => {
  const accounts = new CallerAccounts();
  const first = accounts.of("192.0.2.1");
  const asksOften = accounts.of("192.0.2.2");
  assert.deepEqual([first.name, accounts.of("192.0.2.1") === first], ["192.0.2.1", true]);
  for (let i = 0; i < 4_998; i += 1) accounts.of(`a${i}`);
  assert.equal(accounts.of("192.0.2.2"), asksOften);
  // From here on, the addresses above are those of the generation before.
  for (let i = 0; i < 10_000; i += 1) {
    accounts.of(`b${i}`);
    assert.equal(accounts.of("192.0.2.2"), asksOften);
  }
  assert.notEqual(accounts.of("192.0.2.1"), first);
});
