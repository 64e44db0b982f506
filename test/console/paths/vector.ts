/** Records by hand: stored, found by a text and by a vector, with a filter, deleted; then more namespaces than a page has. */
import type { Page } from "playwright-core";
import { confirm, follow, type MainPath, press, write } from "./main-path.ts";

export const vector: MainPath = {
  area: "Vector",
  fact: "stores records, finds them by text, by vector and with a filter, maps and deletes them, and finds a namespace",
  async walk({ page, app }) {
    await addRecord(page, { id: "cat", data: "a cat on a mat", metadata: { legs: 4 } });
    await addRecord(page, { id: "bird", data: "a bird in the sky", metadata: { legs: 2 } });

    await follow(page, "Vector", "Query");
    const what = page.getByLabel("Text, vector as a JSON list, or id");
    const hits = page.getByRole("table", { name: "Hits" });
    await what.fill("a bird in the sky");
    await press(page, "Query");
    await hits.locator('[aria-rowindex="2"]', { hasText: "bird" }).waitFor();
    const { url, token } = app.larder.vector;
    const fetched = await fetch(`${url}/fetch`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: '{"ids":["cat"],"includeVectors":true}',
    });
    const { result } = (await fetched.json()) as { result: readonly { vector: readonly number[] }[] };
    await page.getByLabel("By", { exact: true }).selectOption("vector");
    await what.fill(JSON.stringify(result[0]?.vector));
    await press(page, "Query");
    await hits.locator('[aria-rowindex="2"]', { hasText: "cat" }).waitFor();

    const filter = page.getByLabel("Filter", { exact: true });
    await filter.fill("legs == 2");
    await page.keyboard.press("Enter");
    await page.getByText("Invalid filter at character 6").waitFor();
    await page.locator("mark", { hasText: "==" }).waitFor();
    await filter.fill("");
    await press(page, "Add condition");
    await page.keyboard.type("legs");
    await page.getByLabel("Operator of condition 1").selectOption("<=");
    await page.getByLabel("Value of condition 1").fill("2");
    await page.keyboard.press("Enter");
    await hits.locator('[aria-rowindex="2"]', { hasText: "bird" }).waitFor();
    await hits.locator('[aria-rowindex="3"]').waitFor({ state: "detached" });

    await follow(page, "Vector", "Map");
    await page.getByText("All 2 vectors").waitFor();
    await page.getByText("The points as a table").click();
    await page.getByRole("link", { name: "bird" }).click();
    await press(page, "Delete", true);
    await page.getByRole("link", { name: "bird" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "cat" }).waitFor();

    // With the default one, two pages of the list.
    for (let number = 100; number < 210; number += 1) {
      const body = `{"id":"only ${number}","data":"a text"}`;
      const headers = { authorization: `Bearer ${token}` };
      await (await fetch(`${url}/upsert-data/shelf-${number}`, { method: "POST", headers, body })).text();
    }
    await page.locator("nav.side").getByRole("link", { name: "Namespaces" }).click();
    const list = page.getByRole("table", { name: "Namespaces" });
    await list.getByRole("row", { name: /^shelf-100 1 0 [\d.]+ kB Delete$/ }).waitFor();
    await page.getByRole("rowgroup", { name: "Rows of Namespaces" }).press("End");
    await page.locator('[role=table][aria-rowcount="112"]').waitFor();
    await list
      .getByRole("row", { name: /^shelf-208 / })
      .getByRole("button", { name: "Delete" })
      .click();
    await confirm(page, "Delete", /records? of shelf-208 (?:is|are) deleted/);
    await page.locator('[role=table][aria-rowcount="111"]').waitFor();

    await follow(page, "Vector", "Records");
    await page.getByRole("row").filter({ hasText: "cat" }).getByRole("checkbox").click();
    await page.getByRole("button", { name: "Delete chosen" }).waitFor();
    await page.getByLabel("Namespaces that begin with").fill("shelf-20");
    await page.getByLabel("Namespace", { exact: true }).selectOption("shelf-209");
    // What was chosen in another namespace is not chosen here.
    const only = page.getByRole("row").filter({ hasText: "only 209" });
    await only.getByRole("checkbox", { checked: false }).click();
    await press(page, "Delete chosen");
    await confirm(page, "Delete chosen", "This deletes 1 record of shelf-209.");
    await only.waitFor({ state: "detached" });
  },
  asked: ["namespaces 100", "namespaces 200", "namespaces 50", "query 10", "query-data 10", "range 100"],
};

async function addRecord(page: Page, record: unknown): Promise<void> {
  await follow(page, "Vector", "Records");
  await press(page, "New record");
  await write(page, "The record as JSON", JSON.stringify(record));
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}
