/** The audit log as the admin port shows it: an entry, a page of entries, and the parameters of a query. */
import { countParameter, momentParameter, type QueryValues, textParameter, wordParameter } from "./query.ts";

export const auditOutcomes = ["done", "refused", "failed"] as const;

export type AuditOutcome = (typeof auditOutcomes)[number];

/** A line of the log. */
export interface AuditedEntry {
  /** RFC 3339. */
  readonly time: string;
  /** Such as `databases.create`, `backup` or `start`. */
  readonly action: string;
  /** The tenant or file of the action. */
  readonly subject?: string;
  readonly caller: string;
  readonly outcome: AuditOutcome;
  /** The reason of a failure, in fixed words. */
  readonly reason?: string;
}

export interface AuditPage {
  /** The newest first. */
  readonly entries: readonly AuditedEntry[];
  /** Lines of this part of the log that are no entries. */
  readonly unreadableLines: number;
  /** Where the next page begins; absent at the end of the log. A page without entries may have one. */
  readonly cursor?: string;
}

export const AUDIT_PAGE_MAX = 1_000;
export const AUDIT_PAGE_DEFAULT = 100;

export const auditParameters = {
  action: textParameter("Only actions that are this or begin with it, such as `databases.` or `console.login`"),
  subject: textParameter("Only entries about the tenant or file of this name"),
  outcome: wordParameter("Only entries with this outcome", auditOutcomes),
  from: momentParameter("Only entries of this moment or later, as RFC 3339 or in Unix ms"),
  to: momentParameter("Only entries before this moment, as RFC 3339 or in Unix ms"),
  count: countParameter(`How many entries a page may have; ${AUDIT_PAGE_DEFAULT} if absent`, { max: AUDIT_PAGE_MAX }),
  cursor: textParameter("The cursor of the page before"),
};

export type AuditQuery = QueryValues<typeof auditParameters>;
