/** The code in the pages for users, as far as it needs no server: marks, fences and commands of the program. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "../src/program/settings/read-settings.ts";
import { linesOf } from "./harness/page-lines.ts";
import { pagesForUsers, type Snippet, snippetsOf } from "./harness/page-snippets.ts";

const snippets = pagesForUsers().flatMap((page) => snippetsOf(page));

/** Languages that tests run, or read as the program does. Python has a mark. */
const KNOWN = ["", "js", "ts", "json", "jsonc"];

test("a page has only code in languages that tests run, or a mark with the reason why it is not run", (context) => {
  for (const { page, line, language, notRun } of snippets)
    assert.ok(
      KNOWN.includes(language) || notRun !== undefined,
      `${page}:${line}: no test runs ${language}: <!-- not run: … --> says why`,
    );
  const marked = snippets.filter(({ notRun }) => notRun !== undefined);
  for (const [place, blocks] of Map.groupBy(marked, ({ page, notRun }) => `${page}: ${notRun}`))
    context.diagnostic(`${blocks.length} not run in ${place}`);
});

/** The words after the name of the program, if a command calls it. */
function argumentsOf(words: readonly string[]): readonly string[] | undefined {
  if (words[0] === "larder") return words.slice(1);
  return words[0] === "npx" && words[1] === "larderd" ? words.slice(2) : undefined;
}

test("the program takes every larder command of a page, with its flags and operands", () => {
  let count = 0;
  for (const { snippet, text, words } of snippets.flatMap(linesOf)) {
    const given = argumentsOf(words);
    if (given === undefined) continue;
    count += 1;
    const environment = { LARDER_CLUSTER_URL: given.includes("--cluster-node") ? "postgres://db1/larder" : "" };
    const reading = readSettings({ arguments: given, environment, readFile: () => "{}", hasPackage: () => true });
    const problems = reading.kind === "refused" ? reading.problems : [];
    assert.deepEqual(problems, [], `${snippet.page}:${snippet.line}: ${text}`);
  }
  assert.ok(count > 60, "the pages have commands");
});

const PAGE = `# Title

    larder dev   # a comment

    larder db list | jq "a # b" && larder \\
      stop 2>&1

<!-- not run: needs a bucket -->

    $ A=1 larder verify 's3://a/b c' > out
    printed

- an item

  \`\`\`js of an item

\`\`\`js
x;
\`\`\`
`;

test("a page is read by its blocks, marks and commands", () => {
  const read = snippetsOf("a page", PAGE);
  const shown = ({ line, language, text, notRun }: Snippet): unknown[] => [line, language, text, notRun];
  assert.deepEqual(read.map(shown), [
    [3, "", 'larder dev   # a comment\n\nlarder db list | jq "a # b" && larder \\\n  stop 2>&1', undefined],
    [10, "", "$ A=1 larder verify 's3://a/b c' > out\nprinted", "needs a bucket"],
    [18, "js", "x;", undefined],
  ]);
  assert.deepEqual(
    read.flatMap(linesOf).map(({ words }) => words),
    [
      ["larder", "dev"],
      ["larder", "db", "list"],
      ["jq", "a # b"],
      ["larder", "stop"],
      ["larder", "verify", "s3://a/b c"],
    ],
  );
});

test("a mark before no block, with an unknown reason, or a fence without its end is refused", () => {
  const rows = [
    ["# T\n\n<!-- not run: needs a bucket -->\n\ntext", /a page:5: the mark before this line stands before no block/],
    ["# T\n\n<!-- not run: too long -->\n\n    larder dev", /a page:3: the reason is one of needs a bucket, /],
    ["# T\n\n```js\nx;", /a page:3: the fence is closed/],
  ] as const;
  for (const [text, message] of rows) assert.throws(() => snippetsOf("a page", text), { message });
});
