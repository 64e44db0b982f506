/** The texts for programs that read: an index of all pages, and all pages in one file. */
import type { Section, SitePage } from "./pages.ts";

/** Each page with one line. Links lead to the Markdown of the pages, which is beside them. */
export function indexText(intro: string, sections: readonly Section[]): string {
  const list = ({ title, pages }: Section): string =>
    `## ${title}\n\n${pages.map((page) => `- [${page.title}](${page.path}): ${page.summary}`).join("\n")}\n`;
  return `# larder\n\n> ${intro}\n\nAll pages in one file: [llms-full.txt](llms-full.txt)\n\n${sections.map(list).join("\n")}`;
}

/** The text of every page, each after its path. */
export function fullText(sections: readonly Section[]): string {
  const page = ({ path, text }: SitePage): string => `<!-- ${path} -->\n\n${text.trim()}\n`;
  return sections.flatMap(({ pages }) => pages.map(page)).join("\n");
}
