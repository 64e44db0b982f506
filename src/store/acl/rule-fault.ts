/** What can be wrong with a rule of ACL SETUSER. The words for it stand with all others in `errors.ts`. */
export type RuleFault =
  | "unknown name"
  | "syntax"
  | "pattern behind all keys"
  | "pattern behind all channels"
  | "no such password"
  | "malformed hash"
  | "first argument of a subcommand"
  | "too many rules"
  | "too many passwords";
