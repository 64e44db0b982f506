/** What a visitor does with the server: tenants with their tokens, the audit log of that, a backup, the settings. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Larder } from "../../../src/mod.ts";
import { follow, press } from "./main-path.ts";

/** A kind of tenants. */
export interface TenantsRow {
  readonly title: string;
  readonly one: string;
  readonly area: "store" | "vector" | "messaging";
  /** A route that every token may ask. */
  readonly route: string;
  /** In the audit log. */
  readonly actions: string;
}

export const tenantKinds: readonly TenantsRow[] = [
  { title: "Databases", one: "database", area: "store", route: "/PING", actions: "databases" },
  { title: "Indexes", one: "index", area: "vector", route: "/info", actions: "indexes" },
  { title: "Users", one: "user", area: "messaging", route: "/v2/queues", actions: "users" },
];

interface Operations {
  /** Shows a page of the console of a server with a data directory. */
  readonly page: Page;
  readonly larder: Larder;
}

/** Makes one of these tenants, gives it new tokens and deletes it. */
export async function makeAndDelete({ page, larder }: Operations, row: TenantsRow): Promise<void> {
  const { title, one, area, route, actions } = row;
  const statusWith = async (token: string): Promise<number> =>
    (await fetch(larder[area].url + route, { headers: { authorization: `Bearer ${token}` } })).status;
  await follow(page, "Operations", title);
  await press(page, `Create ${one}`);
  await page.getByLabel("Name", { exact: true }).fill("second");
  await page.getByRole("dialog").getByRole("button", { name: "Create", exact: true }).click();
  const shown = page.getByRole("region", { name: "Token", exact: true });
  /** The token that is shown, and not any more then. */
  const readToken = async (): Promise<string> => {
    const token = await shown.innerText();
    assert.equal(await statusWith(token), 200);
    await page.keyboard.press("Escape");
    await shown.waitFor({ state: "detached" });
    assert.ok(!(await page.content()).includes(token));
    return token;
  };
  const first = await readToken();
  const tenant = page.getByRole("row").filter({ hasText: "second" });
  await tenant.getByRole("button", { name: "New tokens" }).click();
  const confirmation = page.getByRole("dialog", { name: "New tokens" });
  await confirmation.getByText("The tokens of second become invalid at once.").waitFor();
  assert.equal(await statusWith(first), 200);
  await confirmation.getByRole("button", { name: "New tokens" }).click();
  const token = await readToken();
  assert.equal(await statusWith(first), 401);
  await tenant.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await tenant.waitFor({ state: "detached" });
  assert.equal(await statusWith(token), 401);

  await follow(page, "Operations", "Audit log");
  await page.getByLabel("Action", { exact: true }).fill(`${actions}.`);
  await page.keyboard.press("Enter");
  const entries = page.getByRole("table", { name: "Audit log" }).getByRole("row").filter({ hasText: "second" });
  for (const action of ["create", "reset-password", "delete"])
    await entries
      .filter({ hasText: `${actions}.${action}` })
      .getByText("done", { exact: true })
      .waitFor();
  const content = await page.content();
  for (const secret of [first, token]) assert.ok(!content.includes(secret));
}

export async function makeBackup({ page }: Operations): Promise<void> {
  await follow(page, "Operations", "Backups");
  await press(page, "Make a backup");
  await page.getByText("Directory", { exact: true }).waitFor();
  assert.equal(await page.getByText(/^complete up to position \d+$/).count(), 3);
  await press(page, "Start snapshots");
  await page.getByText("Snapshots have started").waitFor();
}

/** The server has `fsync: "no"`. */
export async function readSettings({ page }: Operations): Promise<void> {
  await follow(page, "Operations", "Settings");
  await page.getByLabel("Source").selectOption("changed");
  await page.getByRole("table", { name: "Settings" }).getByRole("button", { name: "fsync", exact: true }).click();
  const details = page.getByRole("dialog");
  await details.locator(".facts div", { hasText: /^Valueno$/ }).waitFor();
  await details.locator(".facts div", { hasText: /^Defaulteverysec; always in a cluster$/ }).waitFor();
}
