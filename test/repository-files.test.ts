/** The files that a repository host reads: the workflow, the forms and the policies. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

const PARTS = ["programs", "install", "test", "package", "examples", "proof", "release"];
const policies = ["CODE_OF_CONDUCT.md", "SECURITY.md"];
const hostFiles = globSync(".github/**/*.{yml,md}");

test(".ci/run refuses an unknown part before it runs any", () => {
  const { status, stdout, stderr } = spawnSync(".ci/run", ["install", "tests"], { encoding: "utf8" });
  assert.equal(status, 2);
  assert.equal(stdout, "");
  assert.equal(
    stderr,
    ".ci/run: unknown part tests; the parts are programs, install, test, package, examples, proof and release\n",
  );
});

test("the jobs of the workflow call only parts of .ci/run, and all of them", () => {
  const workflow = readFileSync(".github/workflows/ci.yml", "utf8");
  const commands = Array.from(workflow.matchAll(/^ +- run: (.*)$/gm), ([, command = ""]) => command);
  const words = commands.map((command) => /^(?:sudo )?\.ci\/run ([a-z ]+)$/.exec(command)?.[1]?.split(" "));
  assert.ok(!words.includes(undefined), commands.join("\n"));
  assert.deepEqual(new Set(words.flat()), new Set(PARTS));
});

test("each form has a name, a description and questions with different ids, some of which need an answer", () => {
  const forms = globSync(".github/ISSUE_TEMPLATE/*.yml").filter((path) => !path.endsWith("/config.yml"));
  assert.deepEqual(forms.sort(), [
    ".github/ISSUE_TEMPLATE/bug.yml",
    ".github/ISSUE_TEMPLATE/difference.yml",
    ".github/ISSUE_TEMPLATE/proposal.yml",
  ]);
  for (const path of forms) {
    const text = readFileSync(path, "utf8");
    assert.match(text, /^name: \S.*\ndescription: \S.*\nlabels: \[[a-z]+\]\nbody:\n/, path);
    const ids = Array.from(text.matchAll(/^ {4}id: (\S+)$/gm), ([, id]) => id);
    const questions = text.match(/^ {2}- type: (?!markdown)/gm) ?? [];
    assert.equal(new Set(ids).size, questions.length, path);
    assert.match(text, /^ {6}required: true$/m, path);
  }
});

test("the policies and the forms refer to private reports, and to no address that nobody owns", () => {
  for (const path of policies)
    assert.match(readFileSync(path, "utf8"), /the repository's private vulnerability\s+reporting/, path);
  for (const path of [...policies, ...hostFiles]) {
    // Loopback is the only address in them.
    const text = readFileSync(path, "utf8").replaceAll("http://127.0.0.1:8079/", "");
    assert.doesNotMatch(text, /https?:\/\/|[\w.-]+@[\w-]+\.[a-z]+/i, path);
  }
});
