/** Values that need a view of their own: a stream with a group, a bitmap, a HyperLogLog; then INFO. */
import { follow, type MainPath, press } from "./main-path.ts";
import { run } from "./store.ts";

export const storeValues: MainPath = {
  area: "Values of the store",
  fact: "acknowledges a pending entry of a group, sets a bit, counts in a HyperLogLog, and reads INFO",
  async walk(visit) {
    const { page } = visit;
    await run(visit, "XADD", "orders", "1-1", "item", "a lamp");
    await run(visit, "XGROUP", "CREATE", "orders", "workers", "0");
    await run(visit, "XREADGROUP", "GROUP", "workers", "Ada", "STREAMS", "orders", ">");
    await run(visit, "SETBIT", "seats", "70", "1");
    await run(visit, "PFADD", "visitors", "Ada", "Grace");

    await follow(page, "Store", "Keys");
    await page.getByRole("link", { name: "orders" }).click();
    await page.getByText("item=a lamp").waitFor();
    await press(page, "Groups");
    await page.getByRole("table", { name: "Groups" }).getByRole("button", { name: "workers" }).click();
    await page.getByRole("table", { name: "Consumers" }).getByText("Ada").waitFor();
    const pending = page.getByRole("table", { name: "Pending entries" });
    await pending.getByRole("row").filter({ hasText: "1-1" }).getByRole("checkbox").click();
    await press(page, "Acknowledge", true);
    await page.getByText("All delivered entries are acknowledged.").waitFor();

    await follow(page, "Store", "Keys");
    await page.getByRole("link", { name: "seats" }).click();
    await page.getByText("1 of 72 bits are set.").waitFor();
    await page.getByRole("button", { name: "Bit 70 is 1" }).waitFor();
    await page.getByRole("button", { name: "Bit 3 is 0" }).click();
    await page.getByRole("button", { name: "Bit 3 is 1" }).waitFor();
    await page.getByText("2 of 72 bits are set.").waitFor();

    await follow(page, "Store", "Keys");
    await page.getByRole("link", { name: "visitors" }).click();
    await page.getByText("About 2 distinct elements").waitFor();
    await press(page, "Add element");
    await page.getByRole("dialog").getByLabel("Element", { exact: true }).fill("Edsger");
    await page.keyboard.press("Enter");
    await page.getByText("About 3 distinct elements").waitFor();

    await follow(page, "Store", "Info");
    await page.locator(".facts div", { hasText: /^Keys[1-9]/ }).waitFor();
    // The commands of other paths are in the list too, of which a page shows a part.
    await page.getByRole("table", { name: "Commands" }).getByRole("row").nth(1).waitFor();
    await page.getByText("The whole report").click();
    await page
      .getByRole("region", { name: "INFO" })
      .getByText(/^db0:keys=[1-9]/m)
      .waitFor();
  },
  asked: ["SCAN 100", "XPENDING 100", "XREVRANGE 100"],
};
