/** ACL users, by ACL LIST, and the changes of their rules. */
import type { Bytes } from "../values/bytes.ts";
import { ask, bytesOf, listOf, mapOf, numberOf, type Reply, textOfReply } from "../values/run.ts";

export interface AclUser {
  readonly name: Bytes;
  readonly isOn: boolean;
  readonly passwordCount: number;
  /** Without state and passwords. */
  readonly rules: Bytes;
}

/** A selector, or a word. */
const RULES = /\([^)]*\)|[^\s()]+/g;

export async function readUsers(database: string, signal: AbortSignal): Promise<AclUser[]> {
  return listOf(await ask(database, ["ACL", "LIST"], signal)).map((line) => userOf(bytesOf(line)));
}

/** user reader on #773d… ~user:* resetchannels -@all +@read */
function userOf(line: Bytes): AclUser {
  const words = line.split(" ");
  const isPassword = (word: Bytes): boolean => word.startsWith("#");
  const rest = words.slice(3);
  return {
    name: words[1] ?? "",
    isOn: words[2] === "on",
    passwordCount: rest.filter(isPassword).length,
    rules: rest.filter((word) => !isPassword(word)).join(" "),
  };
}

/** The rules as they are edited. */
export function rulesOf({ isOn, rules }: AclUser): Bytes {
  return `${isOn ? "on" : "off"} ${rules}`;
}

/** Rules that remove all rights, and keep the passwords. */
const noRights = ["off", "resetkeys", "resetchannels", "-@all", "clearselectors"];

/** `isReplaced`: the rules take the place of the old ones; else they add to them. */
export async function setUser(
  database: string,
  name: Bytes,
  { rules, isReplaced = false }: { readonly rules: Bytes; readonly isReplaced?: boolean },
): Promise<void> {
  const words = rules.match(RULES) ?? [];
  await ask(database, ["ACL", "SETUSER", name, ...(isReplaced ? noRights : []), ...words]);
}

export interface Refusal {
  readonly user: string;
  readonly reason: string;
  /** The command, key or channel. */
  readonly object: string;
  readonly count: number;
  readonly atMs: number;
}

export function refusalOf(entry: Reply): Refusal {
  const facts = mapOf(entry);
  return {
    user: textOfReply(facts.get("username")),
    reason: textOfReply(facts.get("reason")),
    object: textOfReply(facts.get("object")),
    count: numberOf(facts.get("count")),
    atMs: numberOf(facts.get("timestamp-last-updated")),
  };
}
