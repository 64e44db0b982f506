/** The main path of each area through its pages, in a real browser: `npm test` draws an area, and a proof has all. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { seededRandom } from "../../src/kernel/random.ts";
import { drawnPart } from "../harness/drawn-part.ts";
import { seedFrom } from "../harness/seed.ts";
import { Application } from "../sdk/workflow/application.ts";
import { goTo, missingBrowser, openBrowser, openPage } from "./browser.ts";
import { askedSizes } from "./paths/asked-sizes.ts";
import { failures } from "./paths/failures.ts";
import { messaging } from "./paths/messaging.ts";
import { otherPages } from "./paths/other-pages.ts";
import { storePath, types } from "./paths/store.ts";
import { storeValues } from "./paths/store-values.ts";
import { vector } from "./paths/vector.ts";
import { workflows } from "./paths/workflows.ts";

const random = seededRandom(seedFrom("LARDER_CONSOLE_SEED"));
const store = storePath(drawnPart(types, { oneIn: types.length, random }));
const areas = [messaging, failures, workflows, store, storeValues, vector, otherPages];

describe("main paths of the console", { skip: missingBrowser() }, () => {
  const app = new Application();
  let browser: Browser;
  before(async () => {
    browser = await openBrowser();
  });
  after(() => browser.close());

  for (const { area, fact, walk, asked } of drawnPart(areas, { oneIn: areas.length, random }))
    test(`${area}: a visitor ${fact}, and no list asks for more than it shows`, async () => {
      await using opened = await openPage(browser);
      const { page, problems } = opened;
      const sizes = new Set<string>();
      page.on("request", (request) => {
        for (const size of askedSizes(request)) sizes.add(size);
      });
      await goTo(page, `${app.larder.admin.url}/console/`);
      await walk({ page, app });
      assert.deepEqual([...sizes].sort(), asked);
      assert.deepEqual(problems, []);
    });
});
