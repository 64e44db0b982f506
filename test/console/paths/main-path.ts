/** The main path of an area: what most visitors of its pages do, one after the other. */
import type { Page } from "playwright-core";
import type { Application } from "../../sdk/workflow/application.ts";
import { settled } from "../browser.ts";

export interface Visit {
  /** Shows the home page. */
  readonly page: Page;
  /** Empty, with the larder of the page. */
  readonly app: Application;
}

export interface MainPath {
  readonly area: string;
  /** What its tests show. */
  readonly fact: string;
  readonly walk: (visit: Visit) => Promise<void>;
  /** All that its pages ask for at a time, in the form of `askedSize`, sorted. */
  readonly asked: readonly string[];
}

/** Goes to a page by its link in the navigation. */
export async function follow(page: Page, group: string, title: string): Promise<void> {
  await page
    .locator("nav.side section", { has: page.getByRole("heading", { name: group }) })
    .getByRole("link", { name: title, exact: true })
    .click();
  await page.getByRole("heading", { level: 1, name: title }).waitFor();
  await settled(page);
}

/** Replaces the text of an editor as a visitor does. `fill` would edit elements of the editor, with styles that the policy stops. */
export async function write(page: Page, label: string, text: string): Promise<void> {
  const editor = page.getByRole("textbox", { name: label, exact: true });
  await editor.focus();
  await editor.press("Control+A");
  await page.keyboard.insertText(text);
}

/** Clicks a button; `inDialog`: then the one with the same name or with this one in the dialog that opens. */
export async function press(page: Page, name: string, inDialog?: true | string): Promise<void> {
  await page.locator("main").getByRole("button", { name, exact: true }).click();
  if (inDialog === undefined) return;
  const title = inDialog === true ? name : inDialog;
  const dialog = page.getByRole("dialog").last();
  await dialog.getByRole("button", { name: title, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Reads what a dialog asks, and clicks its button with this name. */
export async function confirm(page: Page, name: string, question: string | RegExp): Promise<void> {
  const dialog = page.getByRole("dialog").last();
  await dialog.getByText(question).waitFor();
  await dialog.getByRole("button", { name, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}
