/** Messages by hand: published, cancelled, retried; a queue and a schedule that stop and go on. */
import type { Page } from "playwright-core";
import { follow, type MainPath, press } from "./main-path.ts";

export const messaging: MainPath = {
  area: "Messaging",
  fact: "publishes, follows, hastens, cancels and retries messages, and pauses and deletes a queue and a schedule",
  async walk({ page, app }) {
    let status = 200;
    const url = app.route("hook", async () => new Response("answer", { status }));

    await follow(page, "Messaging", "Publish");
    // Faster than the page shows it.
    await page.getByLabel("Body").pressSequentially('{"order": 17}');
    await publish(page, { Destination: url });
    await page.getByText("Attempt 1: delivered").waitFor();
    await page.getByText("The log keeps the response of failed attempts only.").waitFor();
    const id = (await page.locator("h1 bdi").innerText()).trim();
    await page.getByRole("region", { name: "Body of the message" }).getByText('"order": 17').waitFor();
    await follow(page, "Messaging", "Messages");
    await page.getByRole("row").filter({ hasText: "delivered" }).getByRole("link", { name: id }).click();
    await page.getByText("Attempt 1: delivered").waitFor();

    await follow(page, "Messaging", "Publish");
    await publish(page, { Destination: url, Delay: "1h" });
    await press(page, "Deliver now");
    await page.getByText("Attempt 1: delivered").waitFor();

    await follow(page, "Messaging", "Publish");
    await publish(page, { Destination: url, Delay: "1h" });
    await press(page, "Cancel message", true);
    await page.getByRole("list", { name: "Attempts" }).getByText("Cancelled", { exact: true }).waitFor();

    status = 500;
    await follow(page, "Messaging", "Publish");
    await publish(page, { Destination: url, Retries: "0" });
    await page.getByText("Attempt 1: status 500").waitFor();
    await follow(page, "Messaging", "Dead letters");
    await page.getByRole("row").filter({ hasText: "status 500" }).getByRole("link").click();
    await page.getByRole("region", { name: "Last response" }).getByText("answer").waitFor();
    status = 200;
    await press(page, "Retry");
    await page.getByText("Attempt 1: delivered").waitFor();

    status = 500;
    const hourMs = "3600000";
    const { json } = await app.send(`POST /v2/publish/${url}`, {
      headers: { "Upstash-Retries": "1", "Upstash-Retry-Delay": hourMs },
    });
    await follow(page, "Messaging", "Messages");
    await page
      .getByRole("link", { name: (json as { messageId: string }).messageId })
      .first()
      .click();
    await page.getByText("Waits for its next attempt").waitFor();
    status = 200;
    await press(page, "Retry now");
    await page.getByText("Attempt 2: delivered").waitFor();

    await follow(page, "Messaging", "Queues");
    await press(page, "Create a queue");
    await page.getByLabel("Name").fill("orders");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "orders" }).click();
    await pauseAndResume(page, "running");
    await press(page, "Delete", true);
    await page.getByText("Deleted the queue orders").waitFor();

    await follow(page, "Messaging", "Schedules");
    await page.getByRole("link", { name: "Create a schedule" }).click();
    await page.getByLabel("Cron").fill("0 3 * * *");
    await page.getByLabel("Schedule id").fill("nightly");
    await page.getByLabel("Destination").fill(url);
    await press(page, "Create");
    await page.getByText("It has not fired yet").waitFor();
    await press(page, "Run now");
    await page.getByRole("link", { name: /^msg_/ }).waitFor();
    await pauseAndResume(page, "active");

    // With the one above, two pages of the list.
    for (let number = 100; number < 210; number += 1) {
      const headers = { "Upstash-Cron": "0 4 1 1 *", "Upstash-Schedule-Id": `yearly-${number}` };
      await app.send(`POST /v2/schedules/${url}`, { headers });
    }
    await follow(page, "Messaging", "Schedules");
    await page.getByRole("link", { name: "nightly" }).waitFor();
    await page.getByRole("rowgroup", { name: "Rows of Schedules" }).press("End");
    await page.locator('[role=table][aria-rowcount="112"]').waitFor();
    await page.getByRole("rowgroup", { name: "Rows of Schedules" }).press("Home");
    await page.getByRole("link", { name: "nightly" }).click();
    await press(page, "Delete", true);
    await page.getByText("Deleted the schedule nightly").waitFor();
  },
  asked: [
    "dlq 1",
    "dlq 100",
    "logs 1",
    "logs 100",
    "queues 1",
    "queues 100",
    "queues 50",
    "schedules 100",
    "schedules 200",
    "topics 50",
  ],
};

async function publish(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
  await press(page, "Publish");
  await page.getByRole("heading", { level: 1, name: /^msg_/ }).waitFor();
}

async function pauseAndResume(page: Page, running: string): Promise<void> {
  const lead = page.locator(".lead");
  await press(page, "Pause");
  await lead.getByText("paused", { exact: true }).waitFor();
  await press(page, "Resume");
  await lead.getByText(running, { exact: true }).waitFor();
}
