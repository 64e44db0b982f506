/** Values that need a view of their own: a stream with a group, a bitmap, a HyperLogLog; then INFO. */
import { follow, type MainPath, press } from "./main-path.ts";
import { run } from "./store.ts";

export const storeValues: MainPath = {
  area: "Values of the store",
  fact: "acknowledges a pending entry of one group only, deletes another group with its consumer, makes one, adds and removes entries, sets a bit, counts in a HyperLogLog, and reads INFO",
  async walk(visit) {
    const { page } = visit;
    await run(visit, "XADD", "orders", "1-1", "item", "a lamp");
    await run(visit, "XGROUP", "CREATE", "orders", "workers", "0");
    await run(visit, "XREADGROUP", "GROUP", "workers", "Ada", "STREAMS", "orders", ">");
    await run(visit, "XGROUP", "CREATE", "orders", "packers", "0");
    await run(visit, "XREADGROUP", "GROUP", "packers", "Grace", "STREAMS", "orders", ">");
    await run(visit, "SETBIT", "seats", "70", "1");
    await run(visit, "PFADD", "visitors", "Ada", "Grace");

    await follow(page, "Store", "Keys");
    await page.getByRole("link", { name: "orders" }).click();
    await page.getByText("item=a lamp").waitFor();
    await press(page, "Groups");
    const groups = page.getByRole("table", { name: "Groups" });
    const consumers = page.getByRole("table", { name: "Consumers" });
    const pending = page.getByRole("table", { name: "Pending entries" }).getByRole("row").filter({ hasText: "1-1" });
    await groups.getByRole("button", { name: "packers" }).click();
    await pending.filter({ hasText: "Grace" }).getByRole("checkbox").click();
    await groups.getByRole("button", { name: "workers" }).click();
    await consumers.getByText("Ada").waitFor();
    // What was chosen in another group is not chosen here.
    await pending.filter({ hasText: "Ada" }).getByRole("checkbox", { checked: false }).click();
    await press(page, "Acknowledge", true);
    await page.getByText("All delivered entries are acknowledged.").waitFor();

    await groups.getByRole("button", { name: "packers" }).click();
    await consumers.getByRole("row").filter({ hasText: "Grace" }).getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog").last();
    await dialog.getByText("This deletes the consumer with its 1 pending entry,").waitFor();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("The group has no consumers yet.").waitFor();
    await press(page, "Delete group", true);
    await groups.getByRole("row").filter({ hasText: "packers" }).waitFor({ state: "detached" });
    await press(page, "New group");
    await dialog.getByLabel("Name", { exact: true }).fill("auditors");
    await dialog.getByLabel("Reads after", { exact: true }).fill("0");
    await dialog.getByRole("button", { name: "Create" }).click();
    await groups.getByRole("row", { name: /^auditors 0 0 1 0-0$/ }).waitFor();

    await press(page, "Entries");
    await press(page, "Add entry");
    await dialog.getByLabel("Id", { exact: true }).fill("2-1");
    await dialog.getByLabel("Field 1", { exact: true }).fill("item");
    await dialog.getByLabel("Value 1", { exact: true }).fill("a chair");
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("item=a chair").waitFor();
    await page.getByRole("button", { name: "1-1", exact: true }).click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await dialog.getByText("This removes the entry from the stream.").waitFor();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await page.getByText("item=a lamp").waitFor({ state: "detached" });
    await page.getByText("item=a chair").waitFor();

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
