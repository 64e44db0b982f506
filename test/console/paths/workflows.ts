/** Runs of workflows: one that ends, one that is cancelled, one that fails and begins again. */
import { follow, type MainPath, press } from "./main-path.ts";

export const workflows: MainPath = {
  area: "Workflows",
  fact: "shows the steps of a run with their failed attempts, cancels one that sleeps, and restarts one from its dead letter",
  async walk({ page, app }) {
    let greetings = 0;
    let ends = 0;
    const greeting = app.workflow("greeting", async (context) => {
      const name = await context.run("read the name", () => "Ada");
      const greeted = await context.run("greet", () => {
        greetings += 1;
        if (greetings === 1) throw new Error("no voice");
        return `Hello ${name}`;
      });
      ends += 1;
      if (ends === 1) throw new Error("no end");
      return greeted;
    });
    const waiting = app.workflow("waiting", async (context) => {
      await context.sleep("until tomorrow", 86_400);
    });
    let isBroken = true;
    const broken = app.workflow("broken", async (context) =>
      context.run("charge", () => {
        if (isBroken) throw new Error("no money");
        return "charged";
      }),
    );

    await app.client.trigger({ url: greeting, retries: 1, retryDelay: "0" });
    await follow(page, "Workflows", "Runs");
    await page.getByRole("row").filter({ hasText: greeting }).getByRole("link").click();
    const steps = page.getByRole("list", { name: "Steps" });
    await steps.getByText("greet", { exact: true }).click();
    await page.getByRole("region", { name: "Output of greet" }).getByText("Hello Ada").waitFor();
    await page.getByRole("region", { name: "Result of the run" }).getByText("Hello Ada").waitFor();
    await steps.getByText("read the name").waitFor();
    await steps.getByText("1 failed attempt").waitFor();
    await page.getByRole("list", { name: "Failed attempts of greet" }).getByText("no voice").first().waitFor();
    await page
      .getByRole("list", { name: "Failed attempts of the last delivery" })
      .getByText("no end")
      .first()
      .waitFor();

    await app.client.trigger({ url: waiting });
    await follow(page, "Workflows", "Runs");
    await page.getByRole("row").filter({ hasText: waiting }).getByRole("link").click();
    await press(page, "Cancel run", true);
    await page.locator(".lead").getByText("canceled").waitFor();

    const { workflowRunId } = await app.client.trigger({ url: broken, retries: 0 });
    await app.ended(workflowRunId);
    await follow(page, "Messaging", "Dead letters");
    await page.getByRole("row").filter({ hasText: workflowRunId }).getByRole("link").click();
    await page.getByRole("link", { name: workflowRunId }).click();
    await page.locator(".lead").getByText("failed").waitFor();
    isBroken = false;
    await press(page, "Restart", true);
    await page.locator(".lead").getByText("success").waitFor();
    await page.getByRole("region", { name: "Result of the run" }).getByText("charged").waitFor();
  },
  asked: ["dlq 1", "dlq 100", "logs 1", "logs 10"],
};
