/** The look of the site. Its pages and their order are written by `tools/site/site.ts`. */
import { readFileSync } from "node:fs";

const navigation = JSON.parse(readFileSync(new URL("../pages/navigation.json", import.meta.url), "utf8"));
const icon = readFileSync(new URL("../../console/src/style/icon.svg", import.meta.url), "utf8");
const firstOf = (title) => navigation.find(({ text }) => text === title).items[0].link;

/** The browser refuses everything from another host. VitePress has small scripts and styles in its pages. */
const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
].join("; ");

/** The anchors of headings as a repository host makes them; a house rule checks the links in `docs/` by the same. */
const slugify = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

export default {
  title: "larder",
  description: "A Redis-command store, a vector index and durable messaging over HTTP, from one program on one machine",
  lang: "en",
  srcDir: "pages",
  outDir: "../dist/site",
  head: [
    ["meta", { "http-equiv": "Content-Security-Policy", content: POLICY }],
    ["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }],
  ],
  markdown: {
    // Angle brackets in the pages are names of parameters, never elements.
    html: false,
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify },
    config(markdown) {
      const { rules } = markdown.renderer;
      const { text } = rules;
      // Code that is indented looks like code between fences.
      rules.code_block = (tokens, index, ...others) => {
        tokens[index].info = "text";
        return rules.fence(tokens, index, ...others);
      };
      // Two braces would be a program of the page.
      rules.text = (...args) => text(...args).replaceAll("{{", "<span v-pre>{{</span>");
    },
  },
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Topics", link: firstOf("Topics") },
      { text: "Reference", link: firstOf("Reference") },
      { text: "API", link: firstOf("API") },
    ],
    sidebar: navigation.map((section, index) => ({ ...section, collapsed: index > 2 })),
    outline: "deep",
  },
};
