import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { processFigures, readCpuOfChildren } from "./process-figures.ts";

test("the processor time of children is read from proc, whatever the name of the program contains", () => {
  const directory = mkdtempSync(join(tmpdir(), "larder-figures-"));
  try {
    const path = join(directory, "stat");
    writeFileSync(path, "42 (a ) b) S 1 42 42 0 -1 4194304 100 200 0 0 11 12 150 25 20 0 11 0 100\n");
    assert.deepEqual(readCpuOfChildren(path), { userSeconds: 1.5, systemSeconds: 0.25 });
    assert.deepEqual(readCpuOfChildren(join(directory, "missing")), { userSeconds: 0, systemSeconds: 0 });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("the figures of this process are consistent", () => {
  const { processId, readMemory, readCpu, readResp } = processFigures(() => undefined);
  const { usedBytes, residentBytes, systemBytes, heap } = readMemory();
  const cpu = readCpu();
  assert.ok(usedBytes > 0 && usedBytes <= heap.reservedBytes && residentBytes <= systemBytes);
  assert.ok(cpu.process.userSeconds >= cpu.thread.userSeconds && cpu.thread.userSeconds > 0);
  assert.equal(processId, process.pid);
  assert.equal(readResp(), undefined);
});
