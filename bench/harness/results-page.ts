/** `results.md`: one part for each bench with stored results, each under a heading of the first level. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const RESULTS = fileURLToPath(new URL("../results.md", import.meta.url));

/** The part under `# …`, undefined if it does not exist. */
export function readPart(heading: string): string | undefined {
  return parts().find((part) => part.startsWith(`${heading}\n`));
}

/** Replaces the last part with this heading, or appends the part. */
export function writePart(text: string): void {
  const [heading = ""] = text.split("\n", 1);
  const all = parts();
  const index = all.findIndex((part) => part.startsWith(`${heading}\n`));
  if (index < 0) all.push(text);
  else all[index] = text;
  writeFileSync(RESULTS, `${all.map((part) => part.trim()).join("\n\n")}\n`);
}

function parts(): string[] {
  if (!existsSync(RESULTS)) return [];
  return readFileSync(RESULTS, "utf8")
    .split(/^(?=# )/m)
    .filter((part) => part.trim() !== "");
}
