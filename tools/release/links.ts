/** Links of Markdown pages to files of the repository and to their headings. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

interface Link {
  readonly page: string;
  /** As written. */
  readonly text: string;
  /** The path of the file, from the root of the repository. */
  readonly target: string;
  /** The part after `#`. */
  readonly heading: string | undefined;
}

/** The links of a page without those that begin with a scheme. Paths are from the root of the repository. */
export function linksOf(page: string): readonly Link[] {
  return Array.from(readFileSync(page, "utf8").matchAll(/\]\(([^)\s]+)\)/g), ([, text = ""]) => text)
    .filter((text) => !/^[a-z]+:/.test(text))
    .map((text) => {
      const [path = "", heading] = text.split("#");
      return { page, text, target: path === "" ? page : join(dirname(page), path), heading };
    });
}

/** A sentence for each link whose file or heading does not exist. */
export function brokenLinks(pages: readonly string[]): readonly string[] {
  return pages.flatMap(linksOf).flatMap(({ page, text, target, heading }) => {
    if (!existsSync(target)) return [`${page}: ${text} has no target`];
    if (heading === undefined || anchorsOf(target).includes(heading)) return [];
    return [`${page}: ${text}: the heading does not exist`];
  });
}

/** A sentence for each link of a published page to a page of `docs/` that is not published. */
export function unpublishedTargets(published: readonly string[]): readonly string[] {
  return published
    .flatMap(linksOf)
    .filter(({ target }) => target.startsWith("docs/"))
    .filter(({ target }) => !published.some((path) => path === target || path.startsWith(target.replace(/\/?$/, "/"))))
    .map(({ page, text }) => `${page}: ${text} is not in the package: name the page of the repository without a link`);
}

function anchorsOf(page: string): readonly string[] {
  return Array.from(readFileSync(page, "utf8").matchAll(/^#+ (.*)$/gm), ([, text = ""]) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
