/** Errors of the machine become sentences with a remedy. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { lockDataDirectory } from "../persistence/data-directory-lock.ts";
import { commandRefusal, directoryRefusal, listenRefusal, StartRefusal } from "./refusal.ts";

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

const directories: readonly (readonly [code: string, sentence: string])[] = [
  ["EACCES", "No permission to use the data directory /data: change its owner, or choose another with --data-dir"],
  ["EPERM", "No permission to use the data directory /data: change its owner, or choose another with --data-dir"],
  ["EROFS", "The data directory /data is on a read-only file system: choose another with --data-dir"],
  ["ENOTDIR", "The data directory /data is not a directory: choose another with --data-dir"],
  ["EEXIST", "The data directory /data is not a directory: choose another with --data-dir"],
  ["ENOENT", "The data directory /data cannot be created: choose another with --data-dir"],
  ["ENAMETOOLONG", "The data directory /data cannot be created: choose another with --data-dir"],
  ["EIO", "The disk of the data directory /data failed: check the system log, or choose another with --data-dir"],
  ["ENOSPC", "No space left for the data directory /data: free some space, or choose another with --data-dir"],
  ["EDQUOT", "No space left for the data directory /data: free some space, or choose another with --data-dir"],
];

for (const [code, sentence] of directories) {
  test(`a data directory and ${code}: ${sentence}`, () => {
    const refusal = directoryRefusal(systemError(code), "/data", "--data-dir");
    assert.ok(refusal instanceof StartRefusal);
    assert.deepEqual([refusal.message, refusal.exitCode], [sentence, 1]);
  });
}

const plan = { host: "192.0.2.1", port: 80, portPlace: "--store-port", hostPlace: "--host" };
const ports: readonly (readonly [code: string, sentence: string])[] = [
  ["EADDRINUSE", "Port 80 on 192.0.2.1 is in use: stop the program that uses it, or choose another with --store-port"],
  ["EACCES", "No permission to listen on port 80 of 192.0.2.1: choose another with --store-port"],
  ["EADDRNOTAVAIL", "192.0.2.1 is not an address of this machine: change --host"],
  ["ENOTFOUND", "192.0.2.1 is not an address of this machine: change --host"],
];

for (const [code, sentence] of ports) {
  test(`a port and ${code}: ${sentence}`, () => {
    const refusal = listenRefusal(systemError(code), plan);
    assert.ok(refusal instanceof StartRefusal);
    assert.equal(refusal.message, sentence);
  });
}

const owner = "run this as its owner, or choose another with --data-dir";
const commandFaults: readonly (readonly [code: string, path: string, sentence: string | undefined])[] = [
  ["EACCES", "/data", `No permission to use the data directory /data: ${owner}`],
  ["EACCES", "/data/tokens.json", `No permission to use /data/tokens.json in the data directory: ${owner}`],
  ["ENOTDIR", "/data/format", "The data directory /data is not a directory: choose another with --data-dir"],
  ["EACCES", "/database/x", undefined],
  ["ENOENT", "/data/format", undefined],
  ["ENOTDIR", "/a/b", "/a/b cannot be used, because a part of this path is not a directory: name another one"],
  ["ENAMETOOLONG", "/a", "/a cannot be used, because the name is too long: name another one"],
  ["ELOOP", "/a", "/a cannot be used, because its symbolic links go round in a circle: name another one"],
];

for (const [code, path, sentence] of commandFaults) {
  test(`a command and ${code} of ${path}: ${sentence ?? "the error itself"}`, () => {
    const fault = Object.assign(systemError(code), { path });
    const refusal = commandRefusal(fault, "/data", "--data-dir");
    assert.equal(refusal instanceof StartRefusal ? refusal.message : undefined, sentence);
    if (sentence === undefined) assert.equal(refusal, fault);
  });
}

test("a command on a full disk says so: the error of a write names no file", () => {
  assert.equal(
    String(commandRefusal(systemError("ENOSPC"), "/data", "--data-dir")),
    "StartRefusal: No space left on the disk that the command writes to: free some space",
  );
});

test("a file of the data directory that may not be read is named", () => {
  const fault = Object.assign(systemError("EACCES"), { path: "/data/store/0000000001.journal" });
  assert.equal(
    String(directoryRefusal(fault, "/data", "--data-dir")),
    "StartRefusal: No permission to use /data/store/0000000001.journal in the data directory: change its owner, or choose another with --data-dir",
  );
});

test("leaves other errors unchanged", () => {
  const fault = systemError("EOTHER");
  assert.equal(directoryRefusal(fault, "/data", "--data-dir"), fault);
  assert.equal(listenRefusal(fault, plan), fault);
});

test("refuses an invalid lock file, and a directory in which no lock file can be created", (context) => {
  const directory = mkdtempSync(join(tmpdir(), "larder-refusal-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const refuse = (path: string): string => {
    try {
      lockDataDirectory(path)();
    } catch (fault) {
      return String(directoryRefusal(fault, path, "--data-dir"));
    }
    return "nothing was refused";
  };
  writeFileSync(join(directory, "lock.sqlite"), "x".repeat(4_096));

  assert.equal(
    refuse(directory),
    `StartRefusal: ${directory}/lock.sqlite is not a lock: remove that file, which contains no data`,
  );
  assert.equal(
    refuse(join(directory, "none")),
    `StartRefusal: No permission to use the data directory ${join(directory, "none")}: change its owner, or choose another with --data-dir`,
  );
  assert.throws(
    () => lockDataDirectory(join(directory, "none")),
    (fault) =>
      String(commandRefusal(fault, "/data", "--data-dir")) ===
      `StartRefusal: No permission to use the data directory /data: ${owner}`,
  );
});
