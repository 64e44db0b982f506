/**
 * The ids of `docs/interface`: each rule of the interface has one, comments and
 * names of tests cite it, and at least one test names it because it checks it.
 *
 * An id is defined if a heading begins with it, or if it is in bold at the
 * start of a paragraph, a list item or a row of a table. Anything else that looks like an
 * id in these pages cites one. In sources an id is cited in a comment, or in
 * before a colon at the start of a string, such as the name of a test.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";

const FOLDER = "docs/interface";

interface DefinedId {
  readonly id: string;
  readonly page: string;
  /** From 1. */
  readonly line: number;
}

/** A letter for the area, then a number, a name or both: `A3`, `A.encoding`, `C15.retries`. */
const ID = String.raw`[ABCHW](?:\d{1,2})?(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*`;
const DEFINITION = new RegExp(String.raw`^(?:#{2,4} (${ID}): |(?:- |\| )?\*\*(${ID})\*\*(?: |$))`);
/** Not within a word, a code or a file name; a letter alone does not count. */
const CITATION =
  /(?<![\w`./#%-])[ABCHW](?:\d{1,2}|\.[a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*(?![\w-])/g;

const LETTERS_OF_PAGE: Readonly<Record<string, string>> = {
  "README.md": "H",
  "store.md": "A",
  "vector.md": "B",
  "messaging.md": "C",
  "workflows.md": "CW",
};

const pages = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(`${FOLDER}/${name}`, "utf8")]));

/** Every id that the pages define, in their order. */
export function definedIds(): readonly DefinedId[] {
  return [...pages].flatMap(([page, text]) =>
    text.split("\n").flatMap((line, index) => {
      const [, ofHeading, ofParagraph] = DEFINITION.exec(line) ?? [];
      const id = ofHeading ?? ofParagraph;
      return id === undefined ? [] : [{ id, page, line: index + 1 }];
    }),
  );
}

interface Source {
  readonly path: string;
  readonly text: string;
  readonly isTest: boolean;
  readonly cited: readonly string[];
}

const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;
/** The text before the first colon of a string. */
const STRING_HEAD = /["`]([ABCHWS][\w.-]*(?:, [ABCHWS][\w.-]*)*): /g;

/** All sources but this one, with the ids that they cite. */
const sources: readonly Source[] = ["src", "test", "bench", "tools"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:ts|cjs)$/.test(name) && !name.includes("node_modules"))
    .map((name) => `${folder}/${name}`)
    .filter((path) => path !== "test/interface-ids.test.ts")
    .map((path) => {
      const text = readFileSync(path, "utf8");
      const passages = [
        ...Array.from(text.matchAll(COMMENT), ([comment]) => comment),
        ...Array.from(text.matchAll(STRING_HEAD), ([, head = ""]) => head),
      ];
      const cited = passages.flatMap((passage) => Array.from(passage.matchAll(CITATION), ([id]) => id));
      return { path, text, isTest: path.startsWith("test/") || path.endsWith(".test.ts"), cited };
    }),
);

test("every id of the interface is defined once, on the page of its letter", () => {
  const seen = new Map<string, DefinedId>();
  for (const defined of definedIds()) {
    const { id, page, line } = defined;
    const known = seen.get(id);
    assert.equal(known, undefined, `${page}:${line}: ${id} is defined at ${known?.page}:${known?.line} too`);
    seen.set(id, defined);
    assert.ok(LETTERS_OF_PAGE[page]?.includes(id.charAt(0)), `${page}:${line}: ${id} is not for this page`);
  }
  assert.deepEqual([...pages.keys()].sort(), Object.keys(LETTERS_OF_PAGE).sort());
});

test("every id that the pages of the interface cite is defined", () => {
  const ids = new Set(definedIds().map(({ id }) => id));
  const examples = new Set(["`A.encoding`", "`C15.retries`"]);
  for (const [page, text] of pages)
    for (const [cited] of text.matchAll(CITATION))
      assert.ok(ids.has(cited) || examples.has(cited), `${page}: ${cited} is not defined`);
});

test("every id that a source cites is defined", () => {
  const ids = new Set(definedIds().map(({ id }) => id));
  for (const { path, cited } of sources)
    for (const id of cited) assert.ok(ids.has(id), `${path}: docs/interface does not define ${id}`);
});

test("every rule of the interface is named by a test that checks it", () => {
  const named = new Set(sources.flatMap(({ isTest, cited }) => (isTest ? cited : [])));
  const missing = definedIds().flatMap(({ id }) => (named.has(id) ? [] : [id]));
  assert.deepEqual(missing, [], "put the id into the name of the test that checks it, or into the comment above it");
});

test("sources cite no document that is not in the repository", () => {
  const folders = [".", "docs", "bench", "examples"];
  const documents = new Set(
    folders.flatMap((folder) =>
      readdirSync(folder, { recursive: folder !== ".", encoding: "utf8" })
        .filter((name) => name.endsWith(".md"))
        .map((name) => basename(name)),
    ),
  );
  // The site names its pages in lower case, and has an index in each folder.
  for (const name of [...documents, "index.md"]) documents.add(name.toLowerCase());
  // A page of docs/interface is cited by an id: its sections have no numbers.
  const elsewhere = /^\s*(?:\/?\*|\/\/).*\bspec: |\b(?:store|vector|messaging|workflows?|search)(?:\.md)? \d+\.\d+/m;
  for (const { path, text } of sources) {
    for (const [name] of text.matchAll(/[\w-]+\.md\b/g))
      assert.ok(documents.has(name), `${path}: ${name} is not in the repository`);
    assert.equal(elsewhere.exec(text)?.[0], undefined, `${path}: cite an id of docs/interface`);
  }
});

test("a rule of a route belongs to a route that is defined", () => {
  const ids = new Set(definedIds().map(({ id }) => id));
  for (const { id, page, line } of definedIds()) {
    const [, route] = /^([ABC]\d+)\./.exec(id) ?? [];
    assert.ok(route === undefined || ids.has(route), `${page}:${line}: ${id}: ${route} is not defined`);
  }
});

test("the routes A1 to A7, B1 to B3 and C1 to C19 have a section each", () => {
  const counts = { A: 7, B: 3, C: 19 };
  const routes = definedIds().flatMap(({ id }) => (/^[ABC]\d+$/.test(id) ? [id] : []));
  const wanted = Object.entries(counts).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, index) => `${letter}${index + 1}`),
  );
  assert.deepEqual(routes.sort(), wanted.sort());
});

test("every route of the areas is in the section that describes it", () => {
  const reference = readFileSync("docs/reference/routes.md", "utf8").split("## The admin port")[0] ?? "";
  const routes = Array.from(reference.matchAll(/^\| `([^`]+)` \| ([ABC]\d+)? ?\|/gm), ([, route = "", rule]) => ({
    route,
    rule,
  }));
  assert.ok(routes.length > 90, `${routes.length} routes were read`);
  // Before the first section there is the list of all routes.
  const sections = new Map(
    [...pages.values()].flatMap((text) =>
      text
        .split(/^### /m)
        .slice(1)
        .map((section) => [section.slice(0, section.indexOf(":")), section] as const),
    ),
  );
  const described = [...sections.values()].join("\n");
  for (const { route, rule } of routes) {
    const section = rule === undefined ? described : (sections.get(rule) ?? "");
    assert.ok(section.includes(`\`${route}\``), `docs/interface does not describe ${route} ${rule ?? ""}`);
  }
});

test("every option of a message is in the table of options", () => {
  const [, table = ""] = readFileSync("docs/reference/headers.md", "utf8").split("## Messages");
  const names = Array.from(table.split("\n## ")[0]?.matchAll(/^\| `([A-Za-z-]+)` \|/gm) ?? [], ([, name = ""]) => name);
  assert.ok(names.length > 15, `${names.length} headers were read`);
  const options = Array.from(
    pages.get("messaging.md")?.matchAll(/^\| \*\*C\d+\.[a-z-]+\*\* \| ([^|]+) \|/gm) ?? [],
    ([, header = ""]) => header,
  ).flatMap((header) => header.split(", "));
  for (const name of names) assert.ok(options.includes(name), `messaging.md does not describe the header ${name}`);
});

test("every setting that the pages of the interface name exists", () => {
  const settings = readFileSync("docs/reference/settings.md", "utf8");
  for (const [page, text] of pages)
    for (const [, flag = ""] of text.matchAll(/`(--[a-z-]+)/g))
      assert.ok(settings.includes(`\`${flag} `), `${page}: the setting ${flag} does not exist`);
});
