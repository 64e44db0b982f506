/**
 * A real browser for the tests of the console: Chromium of the system, driven by `playwright-core`, which downloads none.
 * A page that reports an error of a script, or something that its policy has stopped, fails the test.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { missingProgram } from "../harness/required-programs.ts";

/** Why the tests of the console cannot run here, or false; for the `skip` option of a suite. */
export function missingBrowser(): string | false {
  const missing = missingProgram("chromium");
  if (missing !== false) return missing;
  if (existsSync("dist/console/index.html.br")) return false;
  // Nothing is skipped where the browser is required.
  assert.ok(!(process.env["LARDER_REQUIRE"] ?? "").includes("chromium"), "the console is not built: npm run console");
  return "the console is not built";
}

/** Opens the browser. Disposing of it closes it. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "chromium"))
    .find((path) => existsSync(path));
  assert.ok(executablePath !== undefined, "chromium is on the PATH");
  // The sandbox of Chromium does not run as root. The pages are ours, on loopback.
  return await chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts, and what the policy stopped, so far. */
  readonly problems: readonly string[];
}

/** Opens a page with an empty profile. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: { width: 1_200, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
  page.on("console", (message) => {
    // A refused request is logged as an error, too; tests look at its text on the page.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      problems.push(`${page.url()}: ${message.text()}`);
  });
  return { page, problems, [Symbol.asyncDispose]: () => context.close() };
}

/** Goes to a place of the console and waits until it has loaded what it shows. */
export async function goTo(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await settled(page);
}

/** Waits until nothing on the page says that it loads. */
export async function settled(page: Page): Promise<void> {
  await page.locator("main").first().waitFor();
  await page.locator(".loading").first().waitFor({ state: "detached" });
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** What axe finds on the page, a line for each rule. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource);
  const { violations } = (await page.evaluate("axe.run()")) as AxeResults;
  return violations.map(({ id, help, nodes }) => `${page.url()}: ${id}: ${help}: ${nodes[0]?.html.slice(0, 200)}`);
}

/** How far the page is wider than its window, in px. */
export async function overflowPx(page: Page): Promise<number> {
  return await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}
