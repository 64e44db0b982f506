/** The session of the console in a real browser, in `larder serve`. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { type Larder, start } from "../../src/mod.ts";
import { goTo, missingBrowser, openBrowser, openPage, settled } from "./browser.ts";

describe("sessions of the console", { skip: missingBrowser() }, () => {
  let browser: Browser;
  let larder: Larder;
  before(async () => {
    [browser, larder] = await Promise.all([openBrowser(), start({ command: "serve", console: "on", fsync: "no" })]);
  });
  after(async () => {
    await browser.close();
    await larder.stop();
  });

  test("a page asks for the admin token, keeps it nowhere, and forgets the session at the log-out", async () => {
    await using opened = await openPage(browser);
    const { page, problems } = opened;
    const { url, token } = larder.admin;
    await goTo(page, `${url}/console/operations/databases`);
    await page.getByLabel("Admin token").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").waitFor();

    await page.getByLabel("Admin token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Databases", level: 1 }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Databases", level: 1 }).waitFor();
    await settled(page);
    const [cookie, ...others] = await page.context().cookies(`${url}/console`);
    assert.deepEqual(others, []);
    assert.deepEqual(
      { name: cookie?.name, path: cookie?.path, httpOnly: cookie?.httpOnly, sameSite: cookie?.sameSite },
      { name: "larder_console", path: "/console", httpOnly: true, sameSite: "Strict" },
    );
    const kept = String(
      await page.evaluate(
        "[document.cookie, JSON.stringify({ ...localStorage, ...sessionStorage }), location.href, document.documentElement.outerHTML].join()",
      ),
    );
    assert.ok(!kept.includes(token));
    assert.ok(cookie !== undefined && !kept.includes(cookie.value));

    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Admin token").waitFor();
    const { status } = await fetch(`${url}/console/api/overview`, {
      headers: { cookie: `larder_console=${cookie?.value}` },
    });
    assert.equal(status, 401);
    assert.deepEqual(problems, []);
  });

  test("tokens of a new database are shown once, and its removal asks first", async () => {
    await using opened = await openPage(browser);
    const { page, problems } = opened;
    await goTo(page, `${larder.admin.url}/console/operations/databases`);
    await page.getByLabel("Admin token").fill(larder.admin.token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("button", { name: "Create database" }).click();
    await page.getByLabel("Name").fill("second");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    const shown = page.getByRole("region", { name: "Token", exact: true });
    const token = await shown.innerText();
    const ping = await fetch(larder.store.url, {
      method: "POST",
      body: '["PING"]',
      headers: { authorization: `Bearer ${token}` },
    });
    assert.deepEqual(await ping.json(), { result: "PONG" });
    await page.keyboard.press("Escape");
    await shown.waitFor({ state: "detached" });
    const row = page.getByRole("row").filter({ hasText: "second" });
    await row.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await row.waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
  });
});
