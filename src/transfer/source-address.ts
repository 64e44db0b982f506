/** The address and token of another service, from the arguments of import commands. */
import type { CommandCall } from "../program/cli/command-row.ts";
import { StartRefusal } from "../program/refusal.ts";

export interface SourceAddress {
  /** Without a slash at the end. */
  readonly base: string;
  readonly token: string;
}

/** The option with the token; its variable is `LARDER_SOURCE_TOKEN`. */
export const SOURCE_TOKEN = "sourceToken";

export function isAddress(place: string): boolean {
  return /^https?:\/\//i.test(place);
}

/** Undefined: `place` is a file. Throws a `StartRefusal`, which never has the token in it. */
export function readSourceAddress(
  place: string,
  givenToken: string | undefined,
  { options, print }: Pick<CommandCall, "options" | "print">,
): SourceAddress | undefined {
  if (!isAddress(place)) {
    if (givenToken !== undefined)
      throw new StartRefusal("A file needs no token; the address of a server must begin with https://", 2);
    return undefined;
  }
  const url = URL.parse(place);
  if (url === null || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new StartRefusal("The address of the source must be a URL without user, query and fragment", 2);
  const token = givenToken ?? options.get(SOURCE_TOKEN);
  if (token === undefined)
    throw new StartRefusal("The token of the source is missing: set LARDER_SOURCE_TOKEN to it", 2);
  if (!/^[\x21-\x7e]+$/.test(token)) throw new StartRefusal("The token of the source contains invalid characters", 2);
  if (givenToken !== undefined)
    print("hint: arguments are visible to every user of this machine; set LARDER_SOURCE_TOKEN to hide the token");
  return { base: url.href.replace(/\/+$/, ""), token };
}
