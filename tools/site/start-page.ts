/** The start page, from the facts of README.md: what larder is, two commands, and what works. */
import { readFileSync } from "node:fs";
import { plainText } from "./pages.ts";

/** The first paragraph of README.md in one line. */
export function introduction(): string {
  const [, paragraph = ""] = readFileSync("README.md", "utf8").split("\n\n");
  return plainText(paragraph.replaceAll("\n", " "));
}

export function startPage(): string {
  const readme = readFileSync("README.md", "utf8");
  const features = Array.from(readme.matchAll(/^\| ([a-z]+) \| (.+) \|$/gm), ([, title = "", details = ""]) => ({
    title: title.charAt(0).toUpperCase() + title.slice(1),
    details: plainText(details),
  }));
  const [, block = ""] = /^( {4}\$ npx [\s\S]*?)\n\n/m.exec(readme) ?? [];
  // The front matter of VitePress is YAML, of which JSON is a part.
  const matter = {
    layout: "home",
    hero: {
      name: "larder",
      tagline: introduction(),
      actions: [
        { theme: "brand", text: "Running larder", link: "./run" },
        { theme: "alt", text: "With your code", link: "./your-code" },
        { theme: "alt", text: "API", link: "./api/store" },
      ],
    },
    features: features.slice(0, 5),
  };
  return `---\n${JSON.stringify(matter)}\n---\n\n## Two commands\n\n\`\`\`sh\n${block.replace(/^ {4}/gm, "")}\n\`\`\`\n`;
}
