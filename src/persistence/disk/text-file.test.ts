import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileDisk } from "./file-disk.ts";
import { assertFileIfThere } from "./file-kind.ts";
import { readFileBytes, readTextFile } from "./text-file.ts";

const directory = mkdtempSync(join(tmpdir(), "larder-text-file-"));
after(() => rmSync(directory, { recursive: true, force: true }));

function messageOf(call: () => unknown): string {
  try {
    return `read ${JSON.stringify(call())}`;
  } catch (fault) {
    return (fault as Error).message.replaceAll(directory, "");
  }
}

const texts: readonly (readonly [bytes: string, result: string])[] = [
  ["", 'read ""'],
  ["efbbbf c3a4", 'read "\ufeffä"'],
  ["61 efbfbd", 'read "a\ufffd"'],
  ["61 ff 62", "/text is not UTF-8: byte 1 (0xff) is invalid"],
  ["c3a4 efbfbd 70 e4 72", "/text is not UTF-8: byte 6 (0xe4) is invalid"],
  ["f09f98", "/text is not UTF-8: byte 0 (0xf0) is invalid"],
  ["eda080", "/text is not UTF-8: byte 0 (0xed) is invalid"],
];

test("a text that is not UTF-8 is refused with the byte", () => {
  const path = join(directory, "text");
  for (const [bytes, result] of texts) {
    writeFileSync(path, Buffer.from(bytes.replaceAll(" ", ""), "hex"));
    assert.equal(
      messageOf(() => readTextFile(path)),
      result,
      bytes,
    );
  }
});

test("a file that is too large is refused, and what has no end too", () => {
  const path = join(directory, "large");
  writeFileSync(path, Buffer.alloc(1024 * 1024 + 1));
  assert.equal(
    messageOf(() => readFileBytes(path, 1024 * 1024)),
    "/large has more than 1 MB",
  );
  assert.equal(
    messageOf(() => readFileBytes("/dev/zero", 1024 * 1024)),
    "/dev/zero has more than 1 MB",
  );
});

test("a pipe is read as a text until its writer closes it", () => {
  const path = join(directory, "secret");
  execFileSync("mkfifo", [path]);
  spawn("/bin/sh", ["-c", 'printf "password" >"$0"', path]);
  assert.equal(readTextFile(path), "password");
});

test("a directory, a pipe and a loop of links are not files of a data directory, and only the pipe can be read", async () => {
  mkdirSync(join(directory, "folder"));
  execFileSync("mkfifo", [join(directory, "pipe")]);
  symlinkSync("loop", join(directory, "loop"));
  const rest = "not a file: move it away, or restore the data directory from a backup";
  for (const [name, what] of [
    ["folder", "a directory"],
    ["pipe", "a pipe"],
    ["loop", "a symbolic link that leads back to itself"],
  ] as const) {
    const path = join(directory, name);
    assert.equal(
      messageOf(() => assertFileIfThere(path)),
      `/${name} is ${what}, ${rest}`,
    );
    for (const how of ["read", "update"] as const)
      await assert.rejects(fileDisk.open(path, how), { name: "NotAFile", message: `${path} is ${what}, ${rest}` });
  }
  assert.equal(
    messageOf(() => readTextFile(join(directory, "folder"))),
    "/folder is a directory, not a file",
  );
  assert.match(
    messageOf(() => readTextFile(join(directory, "loop"))),
    /^ELOOP/,
  );
  assertFileIfThere(join(directory, "none"));
});
