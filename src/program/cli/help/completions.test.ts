import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { missingProgram } from "../../../../test/harness/required-programs.ts";
import { commandRows } from "../commands.ts";
import { completionScript } from "./completions.ts";
import type { Shell } from "./rows.ts";

const folder = mkdtempSync(join(tmpdir(), "larder-completions-"));
after(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, "other"));
writeFileSync(join(folder, "my backup.tar"), "");

const FILES = ["my backup.tar", "other"];

/** The words before the cursor, of which the last is incomplete, and the words that a shell offers. */
const cases: readonly (readonly [words: readonly string[], offered: readonly string[]])[] = [
  [["ba"], ["backup"]],
  [["res"], ["restore"]],
  [["token", ""], ["reset"]],
  [
    ["export", ""],
    ["messaging", "store", "vector"],
  ],
  [["import", "v"], ["vector"]],
  [
    ["completions", ""],
    ["bash", "fish", "zsh"],
  ],
  [["help", "ex"], ["export"]],
  [["help", "export", "s"], ["store"]],
  [["backup", "--repla"], ["--replace"]],
  [["backup", "larder.tar", "--data-d"], ["--data-dir"]],
  [["stats", "--js"], ["--json"]],
  [["serve", "--js"], []],
  [
    ["serve", "--fsync", ""],
    ["always", "everysec", "no"],
  ],
  [["serve", "--threads", "one", "--log-format", "t"], ["text"]],
  [["serve", "--min-free-disk", ""], ["off"]],
  [["serve", "--host", ""], []],
  [["verify", ""], FILES],
  [["check", "--config", ""], FILES],
  [["verify", "ot"], ["other"]],
];

/** Runs the script and then, for each case, code of the shell that prints a line for each offered word and `.`. */
const programs: Readonly<Record<Shell, { readonly flags: readonly string[]; readonly code: string }>> = {
  bash: {
    flags: ["--norc", "--noprofile", "-c"],
    code: cases
      .map(([words]) => {
        const list = ["larder", ...words].map(quote).join(" ");
        return `COMP_WORDS=(${list}); COMP_CWORD=${words.length}; _larder; printf '%s\\n' "\${COMPREPLY[@]}"; echo .`;
      })
      .join("\n"),
  },
  // The script itself runs; the builtins, which need a line editor, print what they are given.
  zsh: {
    flags: ["-f", "-c"],
    code: `compadd() { [[ $1 == -- ]] && shift; local each; for each in "$@"; do [[ $each == $PREFIX* ]] && print -r -- $each; done; true }
_files() { local each; for each in *(N); do [[ $each == $PREFIX* ]] && print -r -- $each; done; true }
${cases
  .map(([words]) => {
    const list = ["larder", ...words].map(quote).join(" ");
    return `words=(${list}); CURRENT=${words.length + 1}; PREFIX=${quote(words.at(-1) ?? "")}; _larder; echo .`;
  })
  .join("\n")}`,
  },
  fish: {
    flags: ["--no-config", "-c"],
    code: cases.map(([words]) => `complete -C ${quote(["larder", ...words].join(" "))}; echo .`).join("\n"),
  },
};

const preludes: Readonly<Partial<Record<Shell, string>>> = { zsh: "compdef() { : }\n" };

for (const shell of ["bash", "zsh", "fish"] as const) {
  test(`${shell} completes commands, flags, values and files`, { skip: missingProgram(shell) }, () => {
    const { flags, code } = programs[shell];
    const script = `${preludes[shell] ?? ""}${completionScript(commandRows, shell)}\n${code}\n`;
    const output = execFileSync(shell, [...flags, script], { cwd: folder, encoding: "utf8" });
    const offers = output.split(/^\.\n/m).slice(0, -1);
    assert.equal(offers.length, cases.length);
    for (const [index, [words, offered]] of cases.entries()) {
      const lines = (offers[index] ?? "").split("\n").filter((line) => line !== "");
      // fish adds a description after a tab, and marks directories.
      const found = lines.map((line) => (line.split("\t", 1)[0] ?? "").replace(/\/$/, "").replaceAll("\\", ""));
      assert.deepEqual(found.sort(), [...offered].sort(), `${shell}: larder ${words.join(" ")}`);
    }
  });
}

test("the scripts complete both commands of the package", () => {
  assert.match(completionScript(commandRows, "bash"), /^complete -F _larder larder larderd$/m);
  assert.match(completionScript(commandRows, "zsh"), /^#compdef larder larderd$/m);
  assert.match(completionScript(commandRows, "zsh"), /compdef _larder larder larderd;/);
  assert.match(completionScript(commandRows, "fish"), /^complete -c larder -c larderd -f /m);
});

function quote(word: string): string {
  return `'${word}'`;
}
