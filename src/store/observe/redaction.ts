/** What stands for a secret where words of a command are shown. */
export const REDACTED = "(redacted)";
