/** A snapshot whose checksums are right, and that has a key twice: the start, check and verify name its place. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemRandom } from "../../src/kernel/random.ts";
import { fileDisk } from "../../src/persistence/disk/file-disk.ts";
import { FILE_HEADER_BYTES } from "../../src/persistence/journal/file-format.ts";
import { readSnapshot, writeSnapshotFile } from "../../src/persistence/snapshot-file.ts";
import { runHere } from "../harness/command-runner.ts";
import { oneThread, spawnProgram, startProgram } from "./program-process.ts";

test("a snapshot that has a key twice is refused by its file and the place of the frame", {
  timeout: 120_000,
}, async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const args = ["--data-dir", directory, ...oneThread];
  {
    await using program = await startProgram("serve", { args });
    const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = program.environment;
    const body = JSON.stringify(Array.from({ length: 40 }, (_, i) => ["SET", `key${i}`, "v".repeat(10_000)]));
    const reply = await fetch(`${url}/pipeline`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body,
    });
    assert.equal(reply.status, 200);
  }
  await (await startProgram("serve", { args })).stop();
  assert.equal((await spawnProgram(["internal-snapshot", directory, "store"]).ended).code, 0);
  const { path, place } = await repeatFrame(join(directory, "store"));
  const refusal = `${path} is damaged at byte ${place}: its frames do not rebuild a state`;

  const verified = await runHere(["verify", directory]);
  assert.deepEqual([verified.code, verified.log.includes(refusal)], [1, true], verified.log);
  const checked = await runHere(["check", "--data-dir", directory]);
  assert.deepEqual([checked.code, checked.output.includes(refusal)], [1, true], checked.output);
  const program = spawnProgram(["serve", ...args]);
  assert.deepEqual([(await program.ended).code, program.log.includes(refusal)], [1, true], program.log);
});

/** Writes the snapshot again with its last frame twice. `place` is that of the second one. */
async function repeatFrame(directory: string): Promise<{ readonly path: string; readonly place: number }> {
  const name = readdirSync(directory).find((each) => each.endsWith(".snapshot")) ?? "";
  const path = join(directory, name);
  const number = Number.parseInt(name, 10);
  const frames: Buffer[] = [];
  const frame = (payload: Buffer): number => frames.push(Buffer.from(payload));
  const { position } = await readSnapshot(fileDisk, { path, area: "store", number }, { frame });
  assert.ok(frames.length >= 2, `${frames.length} frames`);
  const place = frames.reduce((sum, { length }) => sum + 8 + length, FILE_HEADER_BYTES);
  const source = { frames: [...frames, frames.at(-1) as Buffer], random: systemRandom };
  rmSync(path);
  await writeSnapshotFile(fileDisk, { directory, area: "store", number, position }, source);
  return { path, place };
}
