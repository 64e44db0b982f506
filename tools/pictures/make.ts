/**
 * Makes the pictures of the console in `docs/console/`: every page of the navigation, and the first thing that each list
 * shows, in both themes, from the server of a small shop.
 *
 * Run: npm run pictures
 */
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { goTo, openBrowser, openPage } from "../../test/console/browser.ts";
import { startShop } from "./sample-data.ts";

const folder = fileURLToPath(new URL("../../docs/console/", import.meta.url));
const VIEWPORT = { width: 1_200, height: 750 };
/** Charts and editors are loaded after the page. */
const SETTLED_MS = 500;
/** Until the charts of the home page, which begin when it is opened, have something to show. */
const CHARTS_MS = 45_000;

/** `/console/store/main/keys` is `store-keys`: the second segment is the name of a tenant. */
function nameOf(path: string): string {
  const [, area = "", ...rest] =
    path
      .split("?", 1)[0]
      ?.split("/")
      .filter((part) => part !== "") ?? [];
  if (area === "") return "home";
  return [area, ...(area === "operations" ? rest : rest.slice(1, 2))].join("-");
}

async function takePicture(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(SETTLED_MS);
  await page.screenshot({ path: `${folder}${name}.png` });
}

for (const file of readdirSync(folder)) if (file.endsWith(".png")) rmSync(`${folder}${file}`);
const [browser, shop] = await Promise.all([openBrowser(), startShop()]);
const { admin } = shop.larder;
try {
  for (const colorScheme of ["light", "dark"] as const) {
    await using opened = await openPage(browser, { colorScheme, viewport: VIEWPORT });
    const { page } = opened;
    await goTo(page, `${admin.url}/console/`);
    const links = await Promise.all((await page.locator("nav.side a").all()).map((link) => link.getAttribute("href")));
    for (const path of links.filter((link) => link !== null)) {
      await goTo(page, admin.url + path);
      if (nameOf(path) === "home") await page.waitForTimeout(CHARTS_MS);
      await takePicture(page, `${nameOf(path)}-${colorScheme}`);
      const [first] = await page.locator("[role=rowgroup] a").all();
      const inner = await first?.getAttribute("href");
      if (inner === null || inner === undefined) continue;
      await goTo(page, admin.url + inner);
      await takePicture(page, `${nameOf(path)}-one-${colorScheme}`);
    }
  }
} finally {
  await browser.close();
  await shop.stop();
}
