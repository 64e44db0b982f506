/** The faults of a rule of ACL SETUSER. Their texts are in `errors.ts`. */
export type RuleFault =
  | "unknown name"
  | "syntax"
  | "pattern after all keys"
  | "pattern after all channels"
  | "no such password"
  | "malformed hash"
  | "first argument of a subcommand"
  | "too many rules"
  | "too many passwords";
