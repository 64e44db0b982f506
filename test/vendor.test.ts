/** The files in vendor/ are those that their READMEs describe. `npm run vendor -- --check` compares them with the registry. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseOrigins, sha256Of, vendored } from "../tools/vendor.ts";

test("S-12: each vendored file has the checksum in its README and a licence beside it", () => {
  const folders = vendored();
  assert.deepEqual(
    folders.map(({ origin }) => origin.file),
    [
      "liblua5.1.wasm",
      ...["arabic.cjs", "danish.cjs", "dutch.cjs", "finnish.cjs", "french.cjs", "german.cjs", "greek.cjs"],
      ...["hungarian.cjs", "italian.cjs", "norwegian.cjs", "portuguese.cjs", "romanian.cjs", "russian.cjs"],
      ...["spanish.cjs", "swedish.cjs", "tamil.cjs", "turkish.cjs"],
    ],
  );
  for (const { folder, origin } of folders) {
    assert.equal(sha256Of(readFileSync(join(folder, origin.file))), origin.sha256);
    assert.match(origin.package, /^(?:@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+$/);
    assert.match(origin.integrity, /^sha512-/);
    assert.ok(existsSync(join(folder, "LICENSE")));
  }
});

test("an origin is the table of a README", () => {
  const table =
    "# Zip\n\n| | |\n|---|---|\n| file | `zip.wasm` |\n| sha256 | `ab12` |\n| package | `zip@1.0.0` |\n" +
    "| integrity | `sha512-x==` |\n| path | `dist/zip.wasm` |\n| licence | `MIT` |\n";
  assert.deepEqual(parseOrigins(table), [
    {
      file: "zip.wasm",
      sha256: "ab12",
      package: "zip@1.0.0",
      integrity: "sha512-x==",
      path: "dist/zip.wasm",
      licence: "MIT",
    },
  ]);
  assert.throws(() => parseOrigins(table.replace("| path |", "| paths |")), { message: "The table has no row path" });
});

test("several files of a package have a table of their own", () => {
  const tables =
    "| | |\n|---|---|\n| package | `zip@1.0.0` |\n| integrity | `sha512-x==` |\n| licence | `MIT` |\n\n" +
    "| file | path | sha256 |\n|---|---|---|\n| `a.cjs` | `dist/a.cjs` | `ab12` |\n| `b.cjs` | `dist/bb.cjs` | `cd34` |\n";
  const shared = { package: "zip@1.0.0", integrity: "sha512-x==", licence: "MIT" };
  assert.deepEqual(parseOrigins(tables), [
    { file: "a.cjs", path: "dist/a.cjs", sha256: "ab12", ...shared },
    { file: "b.cjs", path: "dist/bb.cjs", sha256: "cd34", ...shared },
  ]);
});
