/** The headers of requests, from the tables that read them. */

import { storeHeaders } from "../../src/edge/openapi/store.ts";
import { canonicalName } from "../../src/kernel/header-name.ts";
import { headerFamilies, headerRows } from "../../src/messaging/mod.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

export const headerParts: Parts = { tables: { messages: messageHeaderLines, store: storeHeaderLines } };

function messageHeaderLines(): readonly string[] {
  return [
    ...header("header", "value", "", "meaning", "examples"),
    ...headerRows.map(({ name, value, meaning, onCallbacks, onlyOnSchedules, notOnSchedules, examples }) =>
      row(
        code(canonicalName(name)),
        value,
        [onCallbacks ? "c" : "", onlyOnSchedules ? "s" : "", notOnSchedules ? "m" : ""].join(""),
        meaning,
        examples.map(code).join(", "),
      ),
    ),
    ...headerFamilies.map(({ prefix, meaning }) => row(code(`${canonicalName(prefix)}…`), "", "", meaning, "")),
  ];
}

function storeHeaderLines(): readonly string[] {
  return [
    ...header("header", "meaning"),
    ...storeHeaders.map(({ name, description = "" }) => row(code(name.replace(/^Service-/, "")), description)),
  ];
}
