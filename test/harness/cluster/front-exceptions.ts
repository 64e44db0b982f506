/** What cannot hold for clients of a node that owns nothing, with the reason. Files that cannot run there are in `tools/tests/processes.ts`. */
import { suiteSetting } from "./suite-setting.ts";

export const frontExceptions = {
  "a refusal before the body":
    "a node that owns nothing knows no tokens: it reads a body within its budget, and the owner refuses it",
  "bytes after a request that closes":
    "with the HTTP of Node, such bytes end the connection, also before a reply that waits for the owner",
} as const satisfies Readonly<Record<string, string>>;

/** The reason, if clients of this suite ask a node that owns nothing; for the option `skip` of a test. */
export function notThroughFront(exception: keyof typeof frontExceptions): string | false {
  return suiteSetting()?.asks === "front" && frontExceptions[exception];
}
