/** `larder audit`: the newest entries of the audit log of a running server. */
import { AUDIT_PAGE_DEFAULT, auditParameters } from "../../../edge/admin/audit.ts";
import { askForAudit } from "../../../edge/admin/client.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { callServer } from "../running-server.ts";
import { cellOf, tableLines } from "./table.ts";

const COLUMNS = ["time", "action", "subject", "caller", "outcome", "reason"] as const;

/** Asks page by page until it has as many as wanted. Rejects with a `StartRefusal`. */
export async function auditLines(run: RunSettings, options: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const filters = Object.fromEntries([...options].filter(([name]) => Object.hasOwn(auditParameters, name)));
  const wanted = Number(filters["count"] ?? AUDIT_PAGE_DEFAULT);
  const entries: Readonly<Record<string, unknown>>[] = [];
  let unreadableCount = 0;
  let cursor: string | undefined;
  do {
    const query: Record<string, string> = { ...filters, ...(cursor !== undefined && { cursor }) };
    if (cursor !== undefined) query["count"] = String(wanted - entries.length);
    const page = await callServer(run, (call) => askForAudit(call, query));
    entries.push(...page.entries);
    unreadableCount += page.unreadableLines;
    ({ cursor } = page);
  } while (cursor !== undefined && entries.length < wanted);
  if (options.has("json")) return [JSON.stringify(entries, undefined, 2)];
  return [
    ...tableLines(
      entries.map((entry) => COLUMNS.map((name) => cellOf(entry[name]))),
      COLUMNS,
    ),
    ...(unreadableCount > 0 ? [`# ${unreadableCount} lines of the log are no entries`] : []),
  ];
}
