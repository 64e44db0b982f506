/** Every page of the console in a real browser: it opens, runs no text of users, and can be used by everyone. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page, Request, Route } from "playwright-core";
import { seededRandom } from "../../src/kernel/random.ts";
import type { Larder } from "../../src/mod.ts";
import { drawnPart } from "../harness/drawn-part.ts";
import { seedFrom } from "../harness/seed.ts";
import { accessibilityProblems, goTo, missingBrowser, openBrowser, openPage, overflowPx } from "./browser.ts";
import { connectClient, MARKUP_WORD, startWithData } from "./seed-data.ts";

const random = seededRandom(seedFrom("LARDER_CONSOLE_SEED"));
const FIRST_LOAD_BYTES_MAX = 300_000;
/** The lines of Home begin some seconds after it. */
const CHART_MS_MAX = 60_000;
const NARROW = { width: 400, height: 800 };

describe("pages of the console", { skip: missingBrowser() }, () => {
  let browser: Browser;
  let larder: Larder;
  before(async () => {
    [browser, larder] = await Promise.all([openBrowser(), startWithData()]);
  });
  after(async () => {
    await browser.close();
    await larder.stop();
  });

  /** The places in the navigation. */
  async function places(page: Page): Promise<readonly string[]> {
    await goTo(page, `${larder.admin.url}/console/`);
    const paths = await Promise.all((await page.locator("nav.side a").all()).map((link) => link.getAttribute("href")));
    return paths.map((path) => `${larder.admin.url}${path}`);
  }

  test("every page of the navigation opens in both themes without an error, and axe finds nothing", async () => {
    const found: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await using opened = await openPage(browser, { colorScheme });
      const { page, problems } = opened;
      for (const place of drawnPart(await places(page), { oneIn: 12, random })) {
        await goTo(page, place);
        found.push(...(await accessibilityProblems(page)));
        const errors = await page.locator("main [role=alert]").allInnerTexts();
        found.push(...errors.map((error) => `${place}: ${error}`));
      }
      found.push(...problems);
    }
    assert.deepEqual(found, []);
  });

  test("no page runs markup in keys, bodies, ids or metadata, or is wider than a narrow screen", async () => {
    await using opened = await openPage(browser, { viewport: NARROW });
    const { page, problems } = opened;
    const wide: string[] = [];
    const look = async (place: string): Promise<void> => {
      await goTo(page, place);
      assert.equal(await page.evaluate("window.hacked"), undefined, place);
      if ((await overflowPx(page)) > 0) wide.push(place);
    };
    for (const place of drawnPart(await places(page), { oneIn: 8, random })) {
      await look(place);
      const [first] = await page.locator("[role=rowgroup] a").all();
      if (first !== undefined) await look(`${larder.admin.url}${await first.getAttribute("href")}`);
    }
    assert.deepEqual([...wide, ...problems], []);
  });

  test("the page of clients shows markup in names as text, and ends a connection by keys alone", async () => {
    using client = await connectClient(larder, "CLIENT", "SETNAME", "to-be-killed");
    await using opened = await openPage(browser, { viewport: NARROW, colorScheme: "dark" });
    const { page, problems } = opened;
    await goTo(page, `${larder.admin.url}/console/store/main/clients?order=idle&name=${encodeURIComponent("<img")}`);
    await page.getByText("1 client", { exact: true }).waitFor();
    await page.getByRole("cell", { name: MARKUP_WORD }).first().waitFor();
    assert.ok((await overflowPx(page)) <= 0);
    await page.getByLabel("Name begins with").fill("to-be-");
    await page.keyboard.press("Enter");
    await page.getByRole("cell", { name: "to-be-killed" }).waitFor();
    await page.locator("[role=rowgroup]").focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog").last();
    await dialog.getByText(`${MARKUP_WORD} ${MARKUP_WORD}`).waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await dialog.getByRole("button", { name: "Kill" }).press("Enter");
    await dialog.getByText(/This ends the connection from 127\.0\.0\.1/).waitFor();
    await dialog.getByRole("button", { name: "Kill" }).press("Enter");
    await page.getByText("No client passes these filters.").waitFor();
    assert.equal(await client.hearAll(), "");
    assert.equal(await page.evaluate("window.hacked"), undefined);
    assert.deepEqual(problems, []);
  });

  test("a page shows its frame at once, says what it waits for, and asks again only after an answer", async () => {
    await using opened = await openPage(browser);
    const { page, problems } = opened;
    await page.clock.install();
    let held = Promise.withResolvers<Route>();
    const nextHeld = async (): Promise<Route> => {
      const route = await held.promise;
      held = Promise.withResolvers();
      return route;
    };
    await page.route(/\/api\/(?:session|overview)$/, (route) => held.resolve(route));
    await page.goto(`${larder.admin.url}/console/`);
    await nextHeld();
    await page.getByRole("banner").getByText("larder").waitFor();
    await page.clock.runFor(20_000);
    await page.getByText("larder has not answered within 20 s").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await (await nextHeld()).continue();
    const overview = await nextHeld();
    await page.clock.runFor(12_000);
    await page.getByText("Still waiting for the answer of larder").waitFor();
    // A second request would have replaced it.
    await overview.continue();
    await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    assert.deepEqual(problems, []);
  });

  test("Home with its charts loads at most 300 KB of compressed files", async () => {
    await using opened = await openPage(browser);
    const { page, problems } = opened;
    const loaded: Request[] = [];
    page.on("request", (request) => {
      if (!request.url().includes("/console/api/")) loaded.push(request);
    });
    await goTo(page, `${larder.admin.url}/console/`);
    await page.locator(".chart canvas").first().waitFor({ timeout: CHART_MS_MAX });
    const sizes = await Promise.all(loaded.map((request) => request.sizes()));
    const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
    assert.ok(loaded.some((request) => request.url().includes("/chart-view-")));
    assert.ok(bytes > 10_000 && bytes <= FIRST_LOAD_BYTES_MAX, `${bytes} bytes`);
    assert.deepEqual(problems, []);
  });

  test("Home says to which moment each area is copied, how far the copy is behind, and why", async () => {
    await using opened = await openPage(browser);
    const { page, problems } = opened;
    const area = { behindBytes: 0, behindSeconds: 0, completeTo: "2026-01-31T18:00:00.000Z", lost: [], fault: null };
    const replication = {
      ...{ address: "s3://bucket/copy", phase: "copying", reason: null, tokens: "copied" },
      storeFault: "the store answered 503 SlowDown",
      areas: [
        { ...area, area: "store", behindBytes: 1_500_000, behindSeconds: 12 },
        { ...area, area: "vector", completeTo: null, fault: "EIO" },
      ],
    };
    await page.route("**/overview", async (route) => {
      const overview = (await (await route.fetch()).json()) as { readonly stats: object };
      await route.fulfill({ json: { ...overview, stats: { ...overview.stats, replication } } });
    });
    await goTo(page, `${larder.admin.url}/console/`);
    await page.getByRole("heading", { name: "Copy of the data directory" }).waitFor();
    await page.getByText("s3://bucket/copy", { exact: true }).waitFor();
    await page.getByText("the store answered 503 SlowDown", { exact: true }).waitFor();
    await page.getByText(/^complete to .+, 1\.5 MB and 12\.0 s behind$/).waitFor();
    await page.getByText("not copied yet, EIO", { exact: true }).waitFor();
    assert.deepEqual(problems, []);
  });

  test("the API page finds an operation by a part of its path, and shows its example", async () => {
    await using opened = await openPage(browser);
    const { page, problems } = opened;
    await goTo(page, `${larder.admin.url}/console/openapi?area=messaging&find=v2/publish`);
    await page.locator("[role=rowgroup] a").click();
    await page.getByRole("heading", { name: "Example of a body" }).waitFor();
    assert.match(await page.locator("pre").first().innerText(), /"id": 7/);
    assert.deepEqual(problems, []);
  });

  test("a list of many rows has few elements, and asks for the next page at its end only", async () => {
    await using opened = await openPage(browser);
    const { page } = opened;
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/range")) asked.push(request.postData() ?? "");
    });
    await goTo(page, `${larder.admin.url}/console/vector/dev/records`);
    await page.getByText("record 1", { exact: true }).waitFor();
    assert.equal(asked.length, 1);
    assert.ok((await page.locator("[role=row]").count()) < 60);
    await page.locator("[role=rowgroup]").press("End");
    await page.locator('[role=table][aria-rowcount="151"]').waitFor();
    assert.equal(asked.length, 2);
  });
});
