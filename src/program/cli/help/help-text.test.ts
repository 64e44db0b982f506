import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { exampleConfiguration, manualPages } from "../../../../tools/manual.ts";
import { parseConfiguration } from "../../settings/config.ts";
import { readSettings } from "../../settings/read-settings.ts";
import { settingList } from "../../settings/settings.ts";
import { commandRows } from "../commands.ts";
import { unknownCommand } from "../find-command.ts";
import { isColourWanted } from "./colour.ts";
import { helpOn } from "./help-text.ts";

const plain = { version: "0.0.0", isColoured: false };

test("the manual and the reference have the current tables of the program: npm run manual", () => {
  for (const [path, text] of manualPages()) assert.equal(readFileSync(path, "utf8"), text, path);
});

test("every page of the reference is generated from tables of the program", () => {
  const folder = new URL("../../../../docs/reference/", import.meta.url);
  const written = [...manualPages().keys()].map((path) => basename(path));
  for (const file of readdirSync(folder)) assert.ok(written.includes(file), file);
});

test("the help and the reference have every setting with all its names", () => {
  const help = helpOn(commandRows, ["settings"], plain) ?? "";
  const reference = [...manualPages().values()].join("\n");
  for (const [name, row] of settingList) {
    for (const word of [row.flag, ...row.environment, row.meaning.split(" ", 3).join(" ")]) {
      if (word === undefined) continue;
      assert.ok(help.includes(word), `${name}: ${word} is not in the help`);
      assert.ok(reference.includes(word), `${name}: ${word} is not in the reference`);
    }
  }
});

test("no line of the help is wider than a terminal", () => {
  for (const topic of [[], ["settings"], ["token"], ...commandRows.map(({ words }) => words.split(" "))]) {
    for (const line of helpOn(commandRows, topic, plain)?.split("\n") ?? []) assert.ok(line.length <= 100, line);
  }
});

test("the overview lists every command in its group, and no setting", () => {
  const overview = helpOn(commandRows, [], plain) ?? "";
  for (const { words, meaning } of commandRows) {
    assert.ok(overview.includes(`  larder ${words}`), words);
    assert.ok(overview.includes(meaning.split(" ", 3).join(" ")), words);
  }
  assert.match(overview, /^Backups:\n {2}larder backup <file>/m);
  assert.doesNotMatch(overview, /--store-port/);
});

test("the help on a command has its form, options, main settings and example", () => {
  assert.equal(
    helpOn(commandRows, ["stats"], plain),
    `larder stats

Prints statistics of the server that uses the data directory.

Options:
  --dev
      the server of larder dev: its ports and tokens, and no data directory unless --data-dir is set
  --json
      prints one line of JSON, without rates

Main settings:
  --data-dir <path>   LARDER_DATA_DIR
      Directory of all stored data; only one process at a time may use it (./larder-data; none in
      dev, which then stores nothing)
  --config <path>   LARDER_CONFIG
      Configuration file (JSON): settings, databases, indexes and messaging users (none)

Example:
  larder stats --data-dir /var/lib/larder

larder stats takes every setting: larder help settings lists them.
`,
  );
});

test("the help on the first word of commands lists them", () => {
  assert.match(
    helpOn(commandRows, ["export"], plain) ?? "",
    /^Commands:\n {2}larder export store .*larder export vector /s,
  );
  assert.match(
    helpOn(commandRows, ["import"], plain) ?? "",
    /^larder import <source>.*\nCommands:\n {2}larder import vector /s,
  );
});

test("an unknown topic has no help, and the error names the nearest command", () => {
  assert.equal(helpOn(commandRows, ["bakcup"], plain), undefined);
  assert.equal(unknownCommand(commandRows, ["bakcup"]), 'Unknown command "bakcup": did you mean backup?');
  assert.equal(unknownCommand(commandRows, ["token", "rest"]), 'Unknown command "token rest": did you mean reset?');
  assert.equal(unknownCommand(commandRows, ["serve", "me"]), 'Unknown argument "me" after larder serve');
  assert.equal(unknownCommand(commandRows, ["token"]), "Incomplete command: use larder token reset <database>");
  assert.equal(unknownCommand(commandRows, ["xyz"]), 'Unknown command "xyz": larder help lists the commands');
});

test("every example is a command with its operands and known flags", () => {
  for (const { words, example } of commandRows) {
    const call = /larder ([^)]*)/.exec(example)?.[1]?.split(" ") ?? [];
    const hasPackage = (): boolean => false;
    const reading = readSettings({ arguments: call, environment: {}, readFile: () => "{}", hasPackage });
    assert.ok(reading.kind === "run", `${example}: ${JSON.stringify(reading)}`);
    assert.equal(reading.command.words, words);
  }
});

test("the help has colour on a terminal, without NO_COLOR and --no-color", () => {
  const coloured = helpOn(commandRows, ["version"], { ...plain, isColoured: true }) ?? "";
  assert.ok(coloured.startsWith("\u001b[36mlarder version\u001b[39m\n"));
  assert.equal(isColourWanted([], { isTTY: true, environment: {} }), true);
  assert.equal(isColourWanted([], { isTTY: false, environment: {} }), false);
  assert.equal(isColourWanted(["--no-color"], { isTTY: true, environment: {} }), false);
  assert.equal(isColourWanted([], { isTTY: true, environment: { NO_COLOR: "1" } }), false);
});

test("the manual's example of a configuration file is valid", () => {
  const fileKeys = new Set(settingList.flatMap(([, row]) => (row.fileKey === undefined ? [] : [row.fileKey])));
  let count = 0;
  const text = exampleConfiguration().replaceAll(`"…"`, () => `"token-${count++}"`);
  assert.deepEqual(parseConfiguration(text, fileKeys).problems, []);
});
