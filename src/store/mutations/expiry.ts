/** What a keyspace calls when a look-up finds something past its time. */
import type { Expiry } from "../keyspace.ts";
import { expireKey } from "./generic.ts";
import { expireFields } from "./hash.ts";

export const expiry: Expiry = { expireKey, expireFields };
