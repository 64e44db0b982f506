/** House rules that a linter cannot express. Each failure names the file and the remedy. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { brokenLinks } from "../tools/release/links.ts";
import { THREATS_PATH, threatsText } from "../tools/threats.ts";
import { budgets, PROOF_MINUTES_MAX, proofCeilings, TEST_MS_MAX } from "./budget.ts";
import { circlesOf } from "./harness/import-circles.ts";

/** Room to rooms it may import. Start-up (`main.ts`, `program/`, files directly in `src/`) connects them all. */
const mayImport: Record<string, readonly string[]> = {
  kernel: [],
  store: ["kernel"],
  vector: ["kernel"],
  messaging: ["kernel"],
  persistence: ["kernel"],
  cluster: ["kernel", "persistence"],
  replication: ["kernel", "persistence"],
  edge: ["kernel", "store", "vector", "messaging"],
  // Import and export talk to a running larder as any client does, and to users as the command line does.
  transfer: ["kernel", "store", "persistence", "program"],
  // Uses larder as a library, as tests do.
  testing: ["kernel", "edge", "program", "mod"],
};
const STARTUP = "program";

interface Source {
  /** From the root of the repository. */
  path: string;
  room: string;
  text: string;
  lines: number;
  isTest: boolean;
}

function sourcesIn(folder: string): Source[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(?:ts|cjs)$/.test(path) && !/(?:^|\/)(?:node_modules|dist|build|\.[^/]+)\//.test(path))
    .map((path) => {
      const text = readFileSync(`${folder}/${path}`, "utf8");
      const room = path.includes("/") ? (path.split("/")[0] ?? "") : STARTUP;
      return {
        path: `${folder}/${path}`,
        room,
        text,
        lines: text.split("\n").length,
        isTest: /\.test\.ts$/.test(path),
      };
    });
}

const sources = sourcesIn("src");
const products = sources.filter((source) => !source.isTest);
const everything = ["src", "test", "bench", "tools", "examples", "bin"].flatMap(sourcesIn);

/** The text without comments and strings, so that a rule does not match a word in a sentence. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|[^:])\/\/.*$/gm, "$1")
    .replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
}

function importsOf(text: string): string[] {
  const forms = /(?:\bfrom\s+|\bimport\s+|\bimport\(|\bgetBuiltinModule\(|\brequire\()"([^"]+)"/g;
  return [...text.matchAll(forms)].map((match) => match[1] ?? "");
}

test("every file is in a room that ARCHITECTURE.md lists", () => {
  for (const { path, room } of sources)
    assert.ok(room === STARTUP || Object.hasOwn(mayImport, room), `${path}: the room ${room}/ does not exist`);
});

test("a room imports only the rooms that ARCHITECTURE.md allows", () => {
  for (const { path, room, text, isTest } of sources) {
    if (room === STARTUP || isTest) continue;
    for (const target of importsOf(text)) {
      const depth = path.split("/").length - 2;
      const [, up = "", targetRoom = ""] = /^((?:\.\.\/)+)([a-z]+)(?:\/|\.ts$)/.exec(target) ?? [];
      if (up.length / 3 !== depth) continue;
      assert.ok(
        targetRoom === room || mayImport[room]?.includes(targetRoom),
        `${path}: ${room}/ may not import ${targetRoom}/`,
      );
    }
  }
});

/** The files of src/ that a file imports, types included. */
function filesImportedBy({ path, text }: Source): readonly string[] {
  const paths = importsOf(text).filter((target) => target.startsWith("."));
  return paths.map((target) => join(dirname(path), target));
}

/** The maximum number of files in a circle inside one folder: they are read as one. */
const CIRCLE_FILES_MAX = 10;

/** Files in circles across folders, by the rooms of the circle. These numbers only shrink. */
const knownCircles: Readonly<Record<string, number>> = {};

test("imports form no circle across folders, types included, and no large one inside a folder", () => {
  const graph = new Map(products.map((source) => [source.path, filesImportedBy(source)]));
  const fileCounts = new Map<string, number>();
  for (const circle of circlesOf(graph)) {
    const folders = new Set(circle.map((path) => dirname(path)));
    if (folders.size === 1 && circle.length <= CIRCLE_FILES_MAX) continue;
    const rooms = [...new Set(circle.map((path) => path.split("/")[1] ?? ""))].sort().join(", ");
    const fileCount = (fileCounts.get(rooms) ?? 0) + circle.length;
    fileCounts.set(rooms, fileCount);
    assert.ok(
      fileCount <= (knownCircles[rooms] ?? 0),
      `${rooms}: ${circle.length} files import each other in a circle: ${circle.join(", ")}; let one of them take a small ` +
        "interface, or move the types that both need into a file of their own",
    );
  }
});

const FOLDER_ENTRIES_MAX = 20;

/** Folders of equal rows: each file is a family of commands and its helpers. */
const foldersOfRows: readonly string[] = ["src/store/commands"];

test("a folder has few entries", () => {
  const folders = new Map<string, Set<string>>();
  for (const { path } of products) {
    // A file counts once with its virtual, generated and test siblings, and a sub-folder counts once.
    for (let entry = path.replace(/(?:\.(?:virtual|travel|generated))?\.(?:ts|cjs)$/, ""); entry !== "src"; ) {
      const folder = dirname(entry);
      folders.set(folder, (folders.get(folder) ?? new Set()).add(entry));
      entry = folder;
    }
  }
  for (const [folder, { size }] of folders) {
    if (foldersOfRows.includes(folder)) continue;
    assert.ok(
      size <= FOLDER_ENTRIES_MAX,
      `${folder}: ${size} entries; move related ones into a folder named for what they share`,
    );
  }
});

const ENGINES = ["store", "messaging", "vector"];

/** Interfaces for importers that must not load the engine: the start, and the thread of the history. */
const lightFaces: readonly string[] = ["src/messaging/settings.ts", "src/messaging/history.ts"];

/** Imports that bypass the interface of an engine, by room and engine. These numbers only shrink. */
const knownImportsPastFaces: Readonly<Record<string, number>> = {};

test("an engine is used through its mod.ts, or that of one of its folders", () => {
  const counts = new Map<string, string[]>();
  for (const source of products) {
    for (const target of filesImportedBy(source)) {
      const engine = target.split("/")[1] ?? "";
      if (!ENGINES.includes(engine) || engine === source.room || basename(target) === "mod.ts") continue;
      if (lightFaces.includes(target)) continue;
      const way = `${source.room} imports ${engine}`;
      counts.set(way, [...(counts.get(way) ?? []), `${source.path} imports ${target}`]);
    }
  }
  for (const [way, imports] of counts) {
    assert.ok(
      imports.length <= (knownImportsPastFaces[way] ?? 0),
      `${way}/ past its mod.ts ${imports.length} times; import mod.ts, and export the needed names there:\n` +
        imports.join("\n"),
    );
  }
});

test("a file of edge/ does not repeat the name of its folder", () => {
  for (const { path } of sources) {
    if (!path.startsWith("src/edge/")) continue;
    const words = basename(path).replace(/\..*$/, "").split("-");
    const folder = basename(dirname(path));
    assert.ok(!words.includes(folder), `${path}: the folder is already named ${folder}; leave it out`);
  }
});

/** Names of several exported classes. This list only shrinks. */
const knownClassNames: readonly string[] = ["Database"];

test("no two exported classes have one name", () => {
  const pathByName = new Map<string, string>();
  for (const { path, text } of products) {
    for (const [, name = ""] of codeOf(text).matchAll(/^export (?:abstract )?class (\w+)/gm)) {
      const other = pathByName.get(name);
      assert.ok(
        other === undefined || knownClassNames.includes(name),
        `${path}: ${other} also has a class ${name}; name one of them by its difference`,
      );
      pathByName.set(name, path);
    }
  }
});

test("only kernel/ reads the real clock or real random numbers", () => {
  for (const { path, room, text } of products) {
    if (room === "kernel") continue;
    const found =
      /(?<![.\w])(?:Date\.now|Math\.random|performance\.now|setTimeout|setInterval|randomBytes)\(|new Date\(\)/.exec(
        codeOf(text),
      );
    assert.equal(found, null, `${path}: ${found?.[0]} is not allowed in a room; take a Clock or a Random`);
  }
});

test("only persistence/, transfer/ and start-up touch files, only edge/, transfer/, testing/ and start-up use sockets", () => {
  const rules = [
    { modules: /^node:(?:fs|fs\/promises|sqlite)$/, rooms: ["persistence", "transfer", STARTUP] },
    {
      modules: /^(?:node:(?:net|http|https|http2|dgram|tls|dns)|undici)/,
      rooms: ["edge", "transfer", "testing", STARTUP],
    },
  ];
  for (const { path, room, text } of products) {
    for (const target of importsOf(text)) {
      const rule = rules.find((candidate) => candidate.modules.test(target));
      assert.ok(rule === undefined || rule.rooms.includes(room), `${path}: ${room}/ may not import ${target}`);
    }
  }
});

test("values of node:http come from edge/http/builtin-module.ts, because an import of the module loads a whole client", () => {
  for (const { path, text } of products) {
    const found = /^import (?!type )[^;]*from "node:http";/m.exec(text);
    assert.equal(found, null, `${path}: ${found?.[0]}`);
  }
});

test("only respond.ts and the transports know HTTP status numbers of failures", () => {
  for (const { path, room, text } of products) {
    if (room === "edge" || room === "transfer" || room === STARTUP) continue;
    const found = /\bstatus(?:Code)?\s*[:=]\s*[1-5]\d\d\b/.exec(codeOf(text));
    assert.equal(found, null, `${path}: ${found?.[0]}: throw a typed error and let edge/respond.ts choose the status`);
  }
});

test("only mutations/ changes the tables of a keyspace", () => {
  for (const { path, room, text } of products) {
    if (room !== "store" || path.includes("/mutations/") || path.includes("/structures/")) continue;
    const found = /\b(?:entries|expiries|fieldExpiryKeys)\.(?:set|insert|delete|removeAt|clear|setValueAt)\(/.exec(
      codeOf(text),
    );
    const ownTable = path.endsWith("values/hash.ts");
    assert.ok(found === null || ownTable, `${path}: ${found?.[0]} belongs in a function in mutations/`);
  }
});

test("user text becomes neither code nor a regular expression", () => {
  for (const { path, text } of products) {
    const found = /\bnew Function\(|\beval\(|\bnew RegExp\(|node:vm/.exec(text);
    assert.equal(found, null, `${path}: ${found?.[0]}`);
  }
});

/** Files outside of kernel/json/ that call JSON.parse, each with the reason why its names cannot matter. */
const nativeParses: ReadonlyMap<string, string> = new Map([
  ["src/edge/store/json-commands.ts", "of its values only lists of scalars are used; objects go to json-reader.ts"],
]);

test("only kernel/json/ calls JSON.parse, because V8 reads some names wrongly", () => {
  const calls = products
    .filter(({ path, text }) => !path.startsWith("src/kernel/json/") && /\bJSON\s*\.\s*parse\b/.test(codeOf(text)))
    .map(({ path }) => path);
  assert.deepEqual(calls, [...nativeParses.keys()], "take parseJsonText, parseJson or parseJsonString of kernel/json/");
});

test("files are named for their content", () => {
  for (const { path } of everything) {
    // Frameworks give names like +page and [id] a meaning.
    if (path.startsWith("examples/")) continue;
    const name = basename(path).replace(/\..*$/, "");
    assert.doesNotMatch(name, /^(?:utils?|helpers?|common|types|misc|index)$|manager/, `${path}: name its content`);
    assert.match(name, /^[a-z0-9]+(?:-[a-z0-9]+)*$/, `${path}: kebab-case`);
  }
});

test("no file is too long", () => {
  for (const { path, lines } of everything) assert.ok(lines <= 800, `${path}: ${lines} lines; split it`);
});

test("a file begins with a comment that describes it", () => {
  for (const { path, text, isTest } of sources) {
    if (isTest) continue;
    assert.match(text, /^(?:#!.*\n)?\/\*\*|^"use strict";/, `${path}: open with a comment that describes the file`);
  }
});

test("main has no unfinished work", () => {
  for (const { path, text } of everything) {
    if (path === "test/tidy.test.ts") continue;
    const found = /\b(?:TODO|FIXME|XXX|HACK)\b/.exec(text);
    assert.equal(found, null, `${path}: ${found?.[0]}; do it or document it for users`);
  }
});

/** Habits of the first texts that nobody says. Names of variables and data of tests count too. */
const HABITS =
  /\b(?:that (?:is|are) none|anew|for ever|has to follow|which there is none|if there (?:is|are) none|lets go on|whoever|likewise)\b/i;

test("texts avoid the worst habits", () => {
  const pages = ["docs", "src", "test"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".md"))
      .map((path) => `${folder}/${path}`),
  );
  const texts = [
    ...pages,
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
  ];
  for (const { path, text } of [...everything, ...texts.map((path) => ({ path, text: readFileSync(path, "utf8") }))]) {
    if (path === "test/tidy.test.ts") continue;
    const found = HABITS.exec(text);
    assert.equal(found, null, `${path}: "${found?.[0]}": write what you would say to a colleague`);
  }
});

test("types are declared, not forced: no any, no suppressed checks", () => {
  for (const { path, text } of everything) {
    if (path === "test/tidy.test.ts") continue;
    const found =
      /:\s*any\b|\bas any\b/.exec(codeOf(text)) ?? /@ts-(?:ignore|nocheck|expect-error)|biome-ignore-all/.exec(text);
    assert.equal(found, null, `${path}: ${found?.[0]}`);
  }
});

test("a test neither sleeps nor is skipped permanently nor runs alone", () => {
  for (const { path, text, isTest } of everything) {
    if (!isTest && !path.startsWith("test/")) continue;
    if (path === "test/tidy.test.ts") continue;
    const found =
      /\b(?:test|it|describe)\.only\(|\bskip:\s*true\b|\bonly:\s*true\b|timers\/promises|setTimeout\(resolve/.exec(
        codeOf(text),
      );
    assert.equal(found, null, `${path}: ${found?.[0]}; await an event or advance a clock`);
  }
});

test("the random suites together stay within their share of npm test", () => {
  const sumMs = budgets.reduce((sum, { testMs }) => sum + testMs, 0);
  assert.ok(sumMs <= TEST_MS_MAX, `the budgets add up to ${sumMs} ms; the table allows ${TEST_MS_MAX}`);
});

test("the ceilings of the proof add up to its limit", () => {
  const sum = proofCeilings.reduce((minutes, { minutesMax }) => minutes + minutesMax, 0);
  assert.equal(sum, PROOF_MINUTES_MAX);
});

test("S-12: dependencies are few and exact, and only the pinned Node runs anything at installation", () => {
  const own = JSON.parse(readFileSync("package.json", "utf8")) as Record<string, Record<string, string>>;
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { dev?: true; hasInstallScript?: true; integrity?: string; link?: true }>;
  };
  assert.deepEqual(Object.keys(own["dependencies"] ?? {}), ["ipaddr.js", "jsonc-parser", "undici"]);
  for (const group of ["dependencies", "devDependencies"])
    for (const [name, range] of Object.entries(own[group] ?? {})) assert.match(range, /^\d+\.\d+\.\d+$/, name);
  const installed = Object.entries(packages).filter(([path]) => path !== "");
  const atRunTime = installed.filter(([, { dev }]) => dev !== true).map(([path]) => path.replace("node_modules/", ""));
  assert.deepEqual(atRunTime, ["ipaddr.js", "jsonc-parser", "undici"]);
  // Both pages say how many that is.
  assert.match(readFileSync("README.md", "utf8"), /npm installs four packages/);
  assert.match(readFileSync("docs/security.md", "utf8"), /npm installs four packages/);
  const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path);
  assert.deepEqual(scripted, ["node_modules/node"]);
  for (const [path, { integrity }] of installed) assert.match(integrity ?? "", /^sha512-/, path);
});

test("docs/threats.md lists the tests whose names carry the ids: node tools/threats.ts", () => {
  const text = readFileSync(THREATS_PATH, "utf8");
  assert.equal(text, threatsText(text));
});

const ARCHITECTURE_BYTES_MAX = 12 * 1024;

test("ARCHITECTURE.md is short: a decision about one room belongs in the README of the room", () => {
  assert.ok(statSync("ARCHITECTURE.md").size <= ARCHITECTURE_BYTES_MAX);
});

test("every file and folder that ARCHITECTURE.md names exists", () => {
  for (const [, path = ""] of readFileSync("ARCHITECTURE.md", "utf8").matchAll(/`([a-z-]+\/[\w./-]*)`/g)) {
    assert.ok(existsSync(path) || existsSync(`src/${path}`), `ARCHITECTURE.md: ${path} does not exist`);
  }
});

test("every link in a page leads to a file, and to a heading if it names one", () => {
  const pages = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "bench/results.md",
  ];
  for (const folder of ["docs", "examples", "src", "test", "vendor"]) {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (name) => name.endsWith(".md") && !name.includes("node_modules"),
    );
    pages.push(...names.map((name) => `${folder}/${name}`));
  }
  assert.deepEqual(brokenLinks(pages), []);
});

test("the repository names no registry and no folder outside itself", () => {
  const listed = [
    "package.json",
    "package-lock.json",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    ".ci/run",
    ".github/workflows/ci.yml",
  ];
  const hosts = new RegExp(["registry\\.npmjs", "deb\\.debian", "\\/work\\/", "\\/farm\\/"].join("|"));
  for (const { path, text } of [...everything, ...listed.map((path) => ({ path, text: readFileSync(path, "utf8") }))]) {
    if (path === "test/tidy.test.ts") continue;
    assert.doesNotMatch(text, hosts, path);
  }
});
