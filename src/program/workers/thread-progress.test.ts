import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { Turns } from "../../kernel/turns.ts";
import { newProgressMemory, ProgressReader, ProgressWriter } from "./thread-progress.ts";

function open(): { progress: ProgressWriter; reader: ProgressReader; turns: Turns } {
  const memory = newProgressMemory();
  const progress = new ProgressWriter(memory);
  return {
    progress,
    reader: new ProgressReader(memory),
    turns: new Turns({ clock: new VirtualClock(), observer: progress }),
  };
}

test("the count changes with each unit and each command", () => {
  const { reader, turns } = open();
  const tenant = turns.tenant("store", "main");
  assert.equal(reader.count, 0);
  assert.equal(tenant.mayRun, true);
  assert.equal(reader.count, 1);
  tenant.begin(7, "eval");
  assert.equal(reader.count, 2);
  tenant.charge(0, 0);
  assert.equal(reader.count, 3);
});

test("main reads the tenant of the running command, and nothing after its unit has ended", () => {
  const { reader, turns } = open();
  const tenant = turns.tenant("store", "ünï");
  assert.equal(tenant.mayRun, true);
  tenant.begin(7, "eval");
  assert.deepEqual([reader.tenant, reader.command], ["ünï", "eval"]);
  tenant.charge(0, 0);
  assert.deepEqual([reader.tenant, reader.command], ["", ""]);
});

test("truncates a long name, and a name without a slot is empty", () => {
  const { progress, reader } = open();
  progress.command("x".repeat(100));
  assert.equal(reader.command, "x".repeat(63));
  for (let name = 0; name < 3_000; name += 1) progress.command(`command ${name}`);
  assert.equal(reader.command, "");
  progress.command("command 5");
  assert.equal(reader.command, "command 5");
});
