/** Keys of each type, the command line, MONITOR and a search. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { follow, type MainPath, press, type Visit, write } from "./main-path.ts";

/** A type of values. */
export interface TypeRow {
  readonly title: string;
  /** What is typed into the form. */
  readonly fields: Readonly<Record<string, string>>;
  /** On the page of the key then. */
  readonly shown: string;
  /** What that page asks for. */
  readonly asked: readonly string[];
}

export const types: readonly TypeRow[] = [
  { title: "String", fields: { Value: "a text" }, shown: "a text", asked: [] },
  { title: "Hash", fields: { Field: "color", Value: "red" }, shown: "red", asked: ["HSCAN 100"] },
  { title: "List", fields: { "First element": "an element" }, shown: "an element", asked: ["LRANGE 100"] },
  { title: "Set", fields: { "First member": "a member" }, shown: "a member", asked: ["SSCAN 100"] },
  { title: "Sorted set", fields: { Score: "2.5", "First member": "Ada" }, shown: "2.5", asked: ["ZRANGE 100"] },
  {
    title: "Stream",
    fields: { "Field of the first entry": "temperature", Value: "21" },
    shown: "temperature",
    asked: ["XREVRANGE 100"],
  },
  { title: "JSON", fields: { Document: '{"title":"Atlas"}' }, shown: "Atlas", asked: [] },
];

/** With the form of these types. */
export function storePath(formTypes: readonly TypeRow[]): MainPath {
  return {
    area: "Store",
    fact: "makes, changes and deletes keys, runs and watches commands, and searches",
    walk: async (visit) => {
      await createKeys(visit, formTypes);
      await changeKey(visit);
      await runCommands(visit);
      await search(visit);
    },
    asked: [...new Set(["SCAN 100", "SEARCH.QUERY 20", ...formTypes.flatMap(({ asked }) => asked)])].sort(),
  };
}

async function createKeys({ page }: Visit, formTypes: readonly TypeRow[]): Promise<void> {
  for (const { title, fields, shown } of formTypes) {
    await follow(page, "Store", "Keys");
    await press(page, "New key");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill(`a ${title}`);
    await dialog.getByLabel("Type", { exact: true }).selectOption({ label: title });
    for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(text);
    await submit(page, "Create");
    await page.getByRole("heading", { level: 1, name: `a ${title}` }).waitFor();
    await page.locator("main").getByText(shown).first().waitFor();
  }
}

async function changeKey(visit: Visit): Promise<void> {
  const { page } = visit;
  await run(visit, "MSET", "first", "a text", "second", "a text");
  await follow(page, "Store", "Keys");
  await page.getByRole("link", { name: "first" }).click();
  await press(page, "Edit");
  await page.getByRole("dialog").getByLabel("Value", { exact: true }).fill("another text");
  await submit(page, "Save");
  await page.getByRole("region", { name: "Value" }).getByText("another text").waitFor();
  await press(page, "Rename");
  const name = page.getByLabel("New name", { exact: true });
  await name.fill("second");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("A key with this name exists").waitFor();
  await name.fill("third");
  await submit(page, "Rename");
  await page.getByRole("heading", { level: 1, name: "third" }).waitFor();
  await press(page, "Expire");
  await page.getByLabel("Expires after", { exact: true }).fill("1000");
  await submit(page, "Set");
  await page.getByRole("button", { name: "Persist" }).waitFor();
  await press(page, "Delete", true);
  await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
  await page.getByRole("link", { name: "second" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "third" }).count(), 0);
}

async function runCommands(visit: Visit): Promise<void> {
  const { page } = visit;
  await follow(page, "Store", "Command line");
  await page.getByLabel("Command", { exact: true }).fill("STRLEN 'second'");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Reply to STRLEN" }).getByText("(integer) 6").waitFor();

  await follow(page, "Store", "Monitor");
  const stream = page.waitForRequest((request) => request.url().endsWith("/monitor"));
  await press(page, "Start");
  await (await stream).response();
  await run(visit, "ECHO", "is watched");
  await page.getByRole("row").filter({ hasText: "is watched" }).waitFor();
  const ended = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/monitor"));
  await follow(page, "Store", "Search");
  await ended;
}

async function search(visit: Visit): Promise<void> {
  const { page } = visit;
  await run(visit, "HSET", "reef:1", "title", "coral reef", "price", "5");
  await run(visit, "HSET", "reef:2", "title", "deep sea", "price", "7");
  await follow(page, "Store", "Search");
  await press(page, "New index");
  await page.getByLabel("Name", { exact: true }).fill("reefs");
  await page.getByLabel("Prefixes").fill("reef:");
  await submit(page, "Create");
  // Keys that exist are indexed in the background.
  await run(visit, "SEARCH.WAITINDEXING", "reefs");
  await write(page, "Filter", '{"title": "coral"}');
  await press(page, "Search");
  await page.getByText("1 hit", { exact: true }).waitFor();
  await page.getByRole("button", { name: "reef:1" }).waitFor();
}

/** A command of a program. */
export async function run({ app }: Visit, ...words: readonly string[]): Promise<void> {
  const { url, token } = app.larder.store;
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(words) });
  assert.equal(response.status, 200, await response.text());
}

/** Sends the form of the dialog, which closes. */
async function submit(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}
