/** Keys that deliveries are signed with: `sig_` and 28 letters and digits, about 166 bits. */
import { secretText } from "../../kernel/random.ts";
import type { SigningKeys } from "../door.ts";

const LENGTH = 28;

export function newSigningKey(): string {
  return `sig_${secretText(LENGTH)}`;
}

export function newSigningKeys(): SigningKeys {
  return { current: newSigningKey(), next: newSigningKey() };
}
