/** The code in the pages for users, as far as it needs no server: marks, fences and commands of the program. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "../src/program/settings/read-settings.ts";
import { languagesOfCommands, linesOf } from "./harness/page-lines.ts";
import { pagesForUsers, type Snippet, snippetsOf } from "./harness/page-snippets.ts";

const snippets = pagesForUsers().flatMap((page) => snippetsOf(page));

/** Languages that tests run, or read as the program does. Python has a mark. */
const KNOWN = [...languagesOfCommands, "js", "ts", "json", "jsonc"];

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

test("the program takes every configuration file of a page", () => {
  const files = snippets.filter(({ language, notRun }) => language.startsWith("json") && notRun === undefined);
  for (const { page, line, text } of files) {
    // A token that the page does not show: each is another one.
    const readFile = (): string => text.replace(/"…"/g, (_, offset: number) => `"token-${offset}"`);
    const reading = readSettings({ arguments: ["serve", "--config", page], environment: {}, readFile });
    assert.deepEqual(reading.kind === "refused" ? reading.problems : [], [], `${page}:${line}`);
  }
});

/** Other commands in blocks without a mark, which no test runs, with the reason. */
const otherCommands: Readonly<Record<string, string>> = {
  docker: "needs containers",
  echo: "writes the file of the next command",
  eval: "runs what larder env prints, which other tests read",
  npm: "needs a registry, or is a script of the reader",
  "redis-cli": "test/program/resp.test.ts runs it",
  source: "loads what larder completions prints, which other tests do",
};

test("a block of commands has only those that tests run, and those of a table with the reason why not", () => {
  for (const snippet of snippets.filter(({ notRun }) => notRun === undefined)) {
    const programs = linesOf(snippet).map(({ words }) => (words[0] === "npx" ? words[1] : words[0]) ?? "");
    const isOther = (program: string): boolean => Object.hasOwn(otherCommands, program);
    const isKnown = (program: string): boolean => ["larder", "larderd", "curl"].includes(program) || isOther(program);
    if (!programs.some(isKnown)) continue;
    assert.deepEqual(
      programs.filter((program) => !isKnown(program)),
      [],
      `${snippet.page}:${snippet.line}`,
    );
  }
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
