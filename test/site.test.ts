/** What can be checked of the site (tools/site/) without a build. `npm run site` checks the rest. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fullText, indexText } from "../tools/site/llms.ts";
import { loadedFromElsewhere } from "../tools/site/output.ts";
import { readSections } from "../tools/site/pages.ts";
import { introduction, startPage } from "../tools/site/start-page.ts";
import { typeText } from "../tools/site/type-text.ts";

const sections = readSections();
const pages = sections.flatMap((section) => section.pages);

test("the site has every page of docs/ once, in the order of docs/README.md", () => {
  const paths = pages.map(({ path }) => path);
  assert.equal(new Set(paths).size, paths.length);
  const inDocs = globSync("**/*.md", { cwd: "docs" })
    .filter((path) => path !== "README.md")
    .map((path) => path.replace(/README\.md$/, "index.md"));
  const missing = inDocs.filter((path) => !paths.includes(path));
  assert.deepEqual(missing, [], "docs/README.md must name them, or their folder");
  assert.deepEqual(
    sections.map(({ title, pages: [first] }) => [title, first?.path]),
    [
      ["Topics", "run.md"],
      ["Reference", "manual.md"],
      ["API", "api/store.md"],
      ["Interface and threats", "interface/index.md"],
      ["The project", "project/architecture.md"],
    ],
  );
});

test("a link of a page leads to a page or a picture of the site", () => {
  const pictures = globSync("**/*.png", { cwd: "docs" });
  const known = new Set(["index.md", ...pages.map(({ path }) => path), ...pictures]);
  for (const { path, text } of pages) {
    const prose = text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "`");
    for (const [, target = ""] of prose.matchAll(/\]\(([^)\s#]+)[^)]*\)/g))
      if (!/^[a-z]+:/.test(target)) assert.ok(known.has(join(dirname(path), target)), `${path}: ${target}`);
  }
});

test("llms.txt has one line for each page, and llms-full.txt has their texts", () => {
  const index = indexText(introduction(), sections);
  assert.match(index, /^# larder\n\n> One program that serves a Redis-command store, /);
  assert.match(index, /^- \[Running larder\]\(run\.md\): dev, serve, containers, upgrades$/m);
  assert.match(
    index,
    /^- \[Settings\]\(reference\/settings\.md\): A flag overrides the environment, the environment overrides the /m,
  );
  const lines = index.split("\n").filter((line) => line.startsWith("- "));
  assert.equal(lines.length, pages.length);
  for (const line of lines) assert.match(line, /^- \[[^\]]+\]\([\w./-]+\.md\): \S.{10,200}$/);
  const full = fullText(sections);
  for (const { path, text } of pages) assert.ok(full.includes(`<!-- ${path} -->\n\n${text.trim()}\n`), path);
});

test("the start page has two commands and a part for each area of README.md", () => {
  const page = startPage();
  const commands = Array.from(page.matchAll(/^\$ (\w+)/gm), ([, command]) => command);
  assert.deepEqual(commands, ["npx", "curl"]);
  const [, matter = ""] = /^---\n(.*)\n---$/m.exec(page) ?? [];
  const { features } = JSON.parse(matter) as { features: readonly { title: string }[] };
  assert.deepEqual(
    features.map(({ title }) => title),
    ["Store", "Vector", "Messaging", "Workflows", "Operations"],
  );
});

test("an operation of the API has its path, an example and its types", () => {
  const { text } = pages.find(({ path }) => path === "api/vector.md") ?? assert.fail();
  const [, operation = ""] = text.split("### Returns the `topK` records nearest to a vector");
  assert.match(operation, /`POST \/query` · `POST \/query\/\{namespace\}`/);
  assert.match(
    operation,
    /curl \\\n {2}"http:\/\/127\.0\.0\.1:8081\/query" \\\n {2}-H "Authorization: Bearer \$TOKEN"/,
  );
  assert.match(operation, /^type Body = /m);
});

test("finds what a page loads from another host, and not what its reader may follow", () => {
  const html = `<a href="https://a.test/">a</a><img alt="" src="//b.test/x.png"><link rel="icon" href="/i.svg">
    <script src="https://c.test/x.js"></script><style>@import "https://d.test/x.css"; i { background: url(/x.png) }</style>`;
  assert.deepEqual(loadedFromElsewhere(html), ["//b.test/x.png", "https://c.test/x.js", "https://d.test/x.css"]);
});

test("a schema is printed as a type", () => {
  const id = { anyOf: [{ type: "string" }, { type: "integer" }] } as const;
  const record = { type: "object", properties: { id, tags: { type: "array", items: id } }, required: ["id"] } as const;
  assert.equal(typeText(record), "{ id: string | number; tags?: (string | number)[] }");
});
