/**
 * Builds the documentation as a web site into `dist/site/`: `npm run site`.
 *
 *     node tools/site/site.ts                   installs what the site is built with, and builds
 *     node tools/site/site.ts --base /larder/   for a site that is not at the root of its host
 *
 * The pages are written to `site/pages/` first, because they come from several folders and some are made. The build fails
 * at a dead link and at anything that a page would load from another host.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fullText, indexText } from "./llms.ts";
import { faultsOfSite } from "./output.ts";
import { picturesOf, readSections, type Section } from "./pages.ts";
import { introduction, startPage } from "./start-page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const source = join(root, "site");
const target = join(root, "dist/site");

/** Returns the faults of the site. */
export function buildSite(base: string): readonly string[] {
  process.chdir(root);
  const sections = readSections();
  writePages(sections);
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ["npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"]],
    [process.execPath, ["node_modules/vitepress/bin/vitepress.js", "build", "--base", base]],
  ];
  for (const [program, words] of steps) {
    const { status, stderr } = spawnSync(program, words, { cwd: source, encoding: "utf8" });
    if (status !== 0) return [`${words.join(" ")} in site/ failed: ${stderr.trim()}`];
  }
  writeTexts(sections);
  return faultsOfSite(target, base);
}

/** The Markdown that VitePress reads, and the navigation that its configuration reads. */
function writePages(sections: readonly Section[]): void {
  const folder = join(source, "pages");
  rmSync(folder, { recursive: true, force: true });
  write(join(folder, "index.md"), startPage());
  for (const page of sections.flatMap(({ pages }) => pages)) {
    write(join(folder, page.path), page.text);
    for (const picture of picturesOf(page)) cpSync(join(root, "docs", picture), join(folder, picture));
  }
  const items = sections.map(({ title, pages }) => ({
    text: title,
    items: pages.map((page) => ({ text: page.title, link: `/${page.path.replace(/(?:index)?\.md$/, "")}` })),
  }));
  write(join(folder, "navigation.json"), JSON.stringify(items));
}

/** The texts for programs, and the Markdown of each page beside it. */
function writeTexts(sections: readonly Section[]): void {
  write(join(target, "llms.txt"), indexText(introduction(), sections));
  write(join(target, "llms-full.txt"), fullText(sections));
  for (const page of sections.flatMap(({ pages }) => pages)) {
    write(join(target, page.path), page.text);
    for (const picture of picturesOf(page)) cpSync(join(root, "docs", picture), join(target, picture));
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

if (import.meta.main) {
  const given = process.argv.indexOf("--base");
  const faults = buildSite(given < 0 ? "/" : (process.argv[given + 1] ?? "/"));
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
  else console.error("The site is in dist/site/.");
}
