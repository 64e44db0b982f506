/** The headers of requests, from the tables that read them. */

import { storeHeaders } from "../../src/edge/openapi/store.ts";
import { canonicalName } from "../../src/kernel/header-name.ts";
import { headerFamilies, headerRows } from "../../src/messaging/options/header-rows.ts";
import { code, header, type Page, row } from "./page.ts";

export const headersPage: Page = {
  file: "headers.md",
  title: "Headers",
  about: "what may be said of a message, a schedule, a callback or an answer of the store",
  lines: headerLines,
};

function headerLines(): readonly string[] {
  return [
    "Each begins with `Service-` or `Upstash-`; where both are there, `Service-` counts.",
    "",
    "## Of a message",
    "",
    "Each may stand in the query of a publish instead, in lower case with its prefix (`service-retries=2`); a header wins. Those marked `c` may also be said of a callback, as `Callback-<name>` and `Failure-Callback-<name>`; `s`: schedules alone have it; `m`: messages alone have it.",
    "",
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
    "",
    "Host, Content-Length, Connection and the other headers of a connection, Accept-Encoding, and the names that a delivery sets itself are not forwarded. A User-Agent that is forwarded replaces ours.",
    "",
    "## Of answers of destinations",
    "",
    "Callbacks, results of workflow calls, logs and dead letters show the headers of an answer as the destination sent them. Of an answer that is longer than `--max-response-size` they have the start. Then `Service-Body-Cut`, and with the same value `Upstash-Body-Cut`, says how many bytes that are, and headers that describe the whole body are left out: Content-Length, Content-MD5, Digest, Content-Digest and Repr-Digest.",
    "",
    "## Of the store",
    "",
    ...header("header", "meaning"),
    ...storeHeaders.map(({ name, description = "" }) => row(code(name.replace(/^Service-/, "")), description)),
    row(
      code("Sync-Token"),
      "In every answer, another each time: clients that want to read their own writes send it back, which they always do here",
    ),
  ];
}
