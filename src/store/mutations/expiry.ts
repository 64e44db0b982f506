/** The functions that a keyspace calls when a look-up finds an expired key or field. */
import type { Expiry } from "../keyspace.ts";
import { expireKey } from "./generic.ts";
import { expireFields } from "./hash.ts";

export const expiry: Expiry = { expireKey, expireFields };
