/** What failed: a message with hidden parts and a run with parallel steps, found among the dead letters, and tried again. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { follow, type MainPath, press } from "./main-path.ts";

const SECRET = "nobody may read this";

export const failures: MainPath = {
  area: "Failures",
  fact: "never sees what a message hides, retries a chosen dead letter, and resumes a run after its parallel steps",
  async walk({ page, app }) {
    let isBroken = true;
    let packed = 0;
    const hook = app.route("hook", async () => new Response("answer", { status: isBroken ? 500 : 200 }));
    const shipping = app.workflow("shipping", async (context) => {
      const parts = await Promise.all([
        context.run("pack the box", () => `box ${++packed}`),
        context.run("weigh the box", () => "2 kg"),
      ]);
      return context.run("ship", () => {
        if (isBroken) throw new Error("no ship");
        return parts.join(" of ");
      });
    });

    const headers = {
      "Upstash-Retries": "0",
      "Upstash-Forward-Plan": SECRET,
      "Upstash-Redact-Fields": "body, header[Plan]",
    };
    const { json } = await app.send(`POST /v2/publish/${hook}`, { headers, body: SECRET });
    const { messageId } = json as { messageId: string };
    const { workflowRunId } = await app.client.trigger({ url: shipping, retries: 0 });
    const { workflowRunCreatedAt } = await app.ended(workflowRunId);

    await follow(page, "Messaging", "Messages");
    await page.getByRole("link", { name: messageId }).first().click();
    await page.getByText("Attempt 1: status 500").waitFor();
    await hidesSecret(page);
    await page.locator(".waits-for").getByRole("link").click();
    await page.getByRole("region", { name: "Last response" }).getByText("answer").waitFor();
    await hidesSecret(page);

    await follow(page, "Messaging", "Dead letters");
    const ofHook = page.getByRole("row").filter({ hasText: hook });
    const ofRun = page.getByRole("row").filter({ hasText: workflowRunId });
    await ofHook.waitFor();
    await page.getByText("More filters").click();
    await page.getByLabel("Run started", { exact: true }).fill(`${workflowRunCreatedAt}`);
    await page.keyboard.press("Enter");
    await ofHook.waitFor({ state: "detached" });
    await ofRun.waitFor();
    await press(page, "Clear");
    isBroken = false;
    await ofHook.getByRole("checkbox").click();
    await press(page, "Retry chosen");
    await page.getByText("Published again: 1", { exact: true }).waitFor();
    await ofHook.waitFor({ state: "detached" });

    await ofRun.getByRole("link").click();
    await page.getByRole("link", { name: workflowRunId }).click();
    await page.locator(".lead").getByText("failed").waitFor();
    const steps = page.getByRole("list", { name: "Steps" });
    for (const name of ["pack the box", "weigh the box"]) {
      await steps.getByText(name, { exact: true }).click();
      await steps.locator("> li", { hasText: name }).getByText("In parallel").waitFor();
    }
    await press(page, "Resume", true);
    await page.locator(".lead").getByText("success").waitFor();
    await page.getByRole("region", { name: "Result of the run" }).getByText("box 1 of 2 kg").waitFor();
    assert.equal(packed, 1);
  },
  asked: ["dlq 1", "dlq 100", "logs 1", "logs 100"],
};

/** Body and header. */
async function hidesSecret(page: Page): Promise<void> {
  await page
    .getByRole("region", { name: "Body of the message" })
    .getByText(/^REDACTED:/)
    .waitFor();
  await page
    .locator(".headers")
    .getByText(/^REDACTED:/)
    .waitFor();
  assert.ok(!(await page.content()).includes(SECRET));
}
