/** The report of INFO. */
import { ask, textOfReply } from "../values/run.ts";

/** The values of INFO by section, then by name. */
export type Report = ReadonlyMap<string, ReadonlyMap<string, string>>;

export function reportOf(text: string): Report {
  const report = new Map<string, Map<string, string>>();
  let section = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("# ")) {
      section = new Map();
      report.set(line.slice(2), section);
    }
    const colon = line.indexOf(":");
    if (colon > 0) section.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return report;
}

export async function readReport(database: string, signal: AbortSignal): Promise<Report> {
  return reportOf(textOfReply(await ask(database, ["INFO"], signal)));
}

/** 0 if larder does not report the value. */
export function numberIn(report: Report, section: string, name: string): number {
  const number = Number(report.get(section)?.get(name));
  return Number.isFinite(number) ? number : 0;
}

export interface CommandUse {
  readonly name: string;
  readonly calls: number;
  readonly usPerCall: number;
  readonly failed: number;
}

/** cmdstat_get:calls=1,usec=458,usec_per_call=458.39,rejected_calls=0,failed_calls=0 */
export function commandUses(report: Report): CommandUse[] {
  const uses = [...(report.get("Commandstats") ?? [])].map(([name, text]): CommandUse => {
    const facts = new Map(
      text.split(",").map((pair): [string, string] => {
        const [key = "", value = ""] = pair.split("=");
        return [key, value];
      }),
    );
    const number = (key: string): number => Number(facts.get(key) ?? 0);
    return {
      name: name.replace("cmdstat_", "").replace("|", " ").toUpperCase(),
      calls: number("calls"),
      usPerCall: number("usec_per_call"),
      failed: number("failed_calls") + number("rejected_calls"),
    };
  });
  return uses.sort((a, b) => b.calls - a.calls);
}

export interface Keyspace {
  readonly keys: number;
  readonly withExpiry: number;
}

/** db0:keys=1,expires=0,avg_ttl=0 */
export function keyspaceOf(report: Report): Keyspace {
  const text = report.get("Keyspace")?.get("db0") ?? "";
  const number = (name: string): number => Number(new RegExp(`${name}=(\\d+)`).exec(text)?.[1] ?? 0);
  return { keys: number("keys"), withExpiry: number("expires") };
}
