/**
 * Fills the column of tests in docs/threats.md: for each threat, the tests whose
 * names carry its id. The rest of the page is written by hand. A test compares
 * the column, so that a threat whose test is renamed or removed shows.
 *
 * Run: node tools/threats.ts
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fillMarks } from "./marks.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

export const THREATS_PATH: string = `${root}docs/threats.md`;

const SHOWN_MAX = 3;

interface NamedTest {
  readonly path: string;
  readonly name: string;
}

/** All tests of the project with their names. */
function namedTests(): readonly NamedTest[] {
  return ["src", "test"].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".test.ts"))
      .sort()
      .flatMap((path) => {
        const text = readFileSync(`${root}${folder}/${path}`, "utf8");
        const names = text.matchAll(/\btest(?:Each|Http[12])?\(\s*(["`])((?:[A-Z]-\d\d\b|\$\{|[^\n])*?)\1/g);
        return Array.from(names, ([, , name = ""]) => ({ path: `${folder}/${path}`, name }));
      }),
  );
}

/** `| id | threat | what larder does | tests |`: only the last cell is written. */
const THREAT_ROW = /^(\| ([A-Z]-\d\d) \| [^|]+ \| [^|]+ \|).*$/gm;

/** The page with its column of tests filled. Throws when an id is twice there, or a row has too few cells. */
export function threatsText(text: string): string {
  const tests = namedTests();
  const seen = new Set<string>();
  const uncovered: string[] = [];
  const filled = text.replaceAll(THREAT_ROW, (_, cells: string, id: string) => {
    if (seen.has(id)) throw new Error(`docs/threats.md: ${id} has two rows`);
    seen.add(id);
    const own = tests.filter(({ name }) => name.includes(id));
    if (own.length === 0) uncovered.push(id);
    return `${cells} ${shown(own)} |`;
  });
  for (const [, id = ""] of text.matchAll(/^\| ?([A-Z]-\d\d)\b/gm))
    if (!seen.has(id))
      throw new Error(`docs/threats.md: the row of ${id} is not | id | threat | what larder does | tests |`);
  return fillMarks("docs/threats.md", filled, { tables: {}, values: { uncovered: uncovered.join(", ") || "None" } });
}

function shown(tests: readonly NamedTest[]): string {
  if (tests.length === 0) return "none";
  const files = [...new Set(tests.map(({ path }) => path))];
  const links = files
    .slice(0, SHOWN_MAX)
    .map((path) => `[${path.replace(/^.*\//, "").replace(".test.ts", "")}](../${path})`);
  const more = files.length > SHOWN_MAX ? `, and ${files.length - SHOWN_MAX} more files` : "";
  return `${tests.length} in ${links.join(", ")}${more}`;
}

if (import.meta.main) writeFileSync(THREATS_PATH, threatsText(readFileSync(THREATS_PATH, "utf8")));
