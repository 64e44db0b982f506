/** The session of the console in a real browser, in `larder serve`, and what a visitor does with the server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { seededRandom } from "../../src/kernel/random.ts";
import { type Larder, start } from "../../src/mod.ts";
import { drawnPart } from "../harness/drawn-part.ts";
import { seedFrom } from "../harness/seed.ts";
import { goTo, missingBrowser, openBrowser, openPage, settled } from "./browser.ts";
import { makeAndDelete, makeBackup, readSettings, tenantKinds } from "./paths/operations.ts";

const random = seededRandom(seedFrom("LARDER_CONSOLE_SEED"));

describe("sessions of the console", { skip: missingBrowser() }, () => {
  let browser: Browser;
  let larder: Larder;
  let dataDir: string;
  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "larder-console-"));
    [browser, larder] = await Promise.all([
      openBrowser(),
      start({ command: "serve", console: "on", fsync: "no", dataDir }),
    ]);
  });
  after(async () => {
    await browser.close();
    await larder.stop();
    rmSync(dataDir, { recursive: true });
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

  test("a visitor makes tenants, gives them new tokens and deletes them, sees tokens once, makes a backup, and finds each in the audit log", async () => {
    await using opened = await openPage(browser);
    const { page, problems } = opened;
    await goTo(page, `${larder.admin.url}/console/`);
    await page.getByLabel("Admin token").fill(larder.admin.token);
    await page.getByRole("button", { name: "Log in" }).click();
    for (const kind of drawnPart(tenantKinds, { oneIn: tenantKinds.length, random }))
      await makeAndDelete({ page, larder }, kind);
    await makeBackup({ page, larder });
    await readSettings({ page, larder });
    assert.deepEqual(problems, []);
  });
});
