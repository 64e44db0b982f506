/**
 * The pages that the other paths pass by: URL groups, limits, keys and events; Pub/Sub, the slow log and users of the store; the
 * audit log and backups of a server without a data directory.
 */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { follow, type MainPath, press, type Visit } from "./main-path.ts";

export const otherPages: MainPath = {
  area: "Other pages",
  fact: "makes a group, pins a limit, rotates masked keys, wakes a run, reads why there is no backup, publishes to a channel, logs slow commands and makes a user",
  async walk(visit) {
    await ofMessaging(visit);
    await ofOperations(visit);
    // It ends with an open dialog.
    await ofTheStore(visit);
  },
  asked: ["audit 200", "flowControl 100", "topics 100"],
};

async function ofMessaging({ page, app }: Visit): Promise<void> {
  await follow(page, "Messaging", "URL groups");
  await press(page, "Create a URL group");
  await send(page, "Create", { "Name of the group": "partners", URL: "https://partner.test/hook" });
  await page.getByRole("heading", { level: 1, name: "URL group partners" }).waitFor();
  await page.getByRole("row").filter({ hasText: "https://partner.test/hook" }).waitFor();

  const headers = {
    "Upstash-Delay": "1h",
    "Upstash-Flow-Control-Key": "customer",
    "Upstash-Flow-Control-Value": "rate=9",
  };
  await app.send("POST /v2/publish/https://partner.test/hook", { headers });
  await follow(page, "Messaging", "Flow control");
  await page.getByRole("link", { name: "customer" }).click();
  await press(page, "Pin limits");
  await send(page, "Pin", { Parallelism: "3" });
  await page.getByText("0 of 3, pinned").waitFor();

  await follow(page, "Messaging", "Signing keys");
  await press(page, "Rotate", true);
  await page.getByText("Rotated", { exact: true }).waitFor();
  const keys = page.getByText(/^sig_/);
  assert.equal(await keys.count(), 0);
  const noted = page.waitForResponse((response) => response.url().endsWith("/reveal"));
  await page.getByRole("button", { name: "Show" }).first().click();
  assert.equal((await noted).status(), 200);
  await keys.waitFor();

  const approval = app.workflow("approval", async (context) => {
    const { eventData } = await context.waitForEvent("approval", "approved", { timeout: "1h" });
    return eventData;
  });
  const { workflowRunId } = await app.client.trigger({ url: approval });
  await follow(page, "Workflows", "Events");
  await page.getByLabel("Id of the event").fill("approved");
  await press(page, "Show its waiters");
  await page.getByRole("link", { name: workflowRunId }).waitFor();
  await page.getByLabel("Data of the event").fill('"by Ada"');
  await press(page, "Notify all waiters");
  await page.getByText("Notified runs: 1").waitFor();
  await app.ended(workflowRunId);
}

async function ofTheStore({ page }: Visit): Promise<void> {
  await follow(page, "Store", "Pub/Sub");
  const stream = page.waitForRequest((request) => request.url().includes("/psubscribe/"));
  await press(page, "Start");
  await (await stream).response();
  await press(page, "Publish");
  await send(page, "Publish", { Channel: "news", Message: "hello" });
  await page.getByRole("table", { name: "Messages" }).getByText("news,hello").waitFor();

  await follow(page, "Store", "Slow log");
  await press(page, "Set the threshold");
  await send(page, "Set", { Microseconds: "0" });
  await page
    .getByRole("table", { name: "Slow commands" })
    .getByText(/config/i)
    .first()
    .waitFor();
  await press(page, "Set the threshold");
  await send(page, "Set", { Microseconds: "10000" });

  await follow(page, "Store", "Users");
  await press(page, "New user");
  await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("reader");
  await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  const dialog = page.getByRole("dialog", { name: "User reader" });
  await dialog.getByRole("button", { name: "New token" }).click();
  await dialog.getByRole("region", { name: "Token" }).waitFor();
}

async function ofOperations({ page }: Visit): Promise<void> {
  await follow(page, "Operations", "Audit log");
  await page.getByText("This server has no data directory for an audit log").waitFor();
  await follow(page, "Operations", "Backups");
  await press(page, "Make a backup");
  await page.getByText("This server has no data directory to back up").waitFor();
}

/** Fills the form of the dialog and sends it. */
async function send(page: Page, name: string, fields: Readonly<Record<string, string>>): Promise<void> {
  const dialog = page.getByRole("dialog").last();
  for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(text);
  await dialog.getByRole("button", { name, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}
