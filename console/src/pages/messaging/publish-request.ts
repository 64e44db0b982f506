/** The form of a message as a request: its headers, and the same as a curl command and as a call of the official client. */

export interface MessageForm {
  readonly kind: "message" | "schedule";
  /** A URL, or the name of a URL group. */
  readonly destination: string;
  readonly method: string;
  readonly contentType: string;
  readonly body: string;
  /** Sent to the destination. */
  readonly forwarded: readonly Pair[];
  /** Options without a field of their own, such as `Callback-Retries`. */
  readonly others: readonly Pair[];
  /** Options by their header, without prefix. */
  readonly options: Readonly<Record<string, string>>;
}

export type Pair = readonly [name: string, value: string];

/** An option with a field in the form. */
export interface OptionRow {
  readonly header: string;
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
  /** In the official client; absent: it sends the header itself. */
  readonly client?: string;
  /** A number in the client. */
  readonly isNumber?: boolean;
  readonly only?: MessageForm["kind"];
}

export const optionGroups: readonly { readonly title: string; readonly rows: readonly OptionRow[] }[] = [
  {
    title: "Schedule",
    rows: [
      {
        header: "Cron",
        label: "Cron",
        placeholder: "*/5 * * * *",
        hint: "Five fields, or @daily and the like; CRON_TZ=Area/City before them",
        client: "cron",
        only: "schedule",
      },
      {
        header: "Schedule-Id",
        label: "Schedule id",
        placeholder: "nightly",
        hint: "One that exists is replaced",
        client: "scheduleId",
        only: "schedule",
      },
    ],
  },
  {
    title: "Time",
    rows: [
      { header: "Delay", label: "Delay", placeholder: "1h30m", client: "delay" },
      {
        header: "Not-Before",
        label: "Not before",
        placeholder: "1767225600",
        hint: "Unix seconds; overrides the delay",
        client: "notBefore",
        isNumber: true,
        only: "message",
      },
      { header: "Timeout", label: "Timeout of an attempt", placeholder: "30s", client: "timeout" },
      { header: "Retries", label: "Retries", placeholder: "3", client: "retries", isNumber: true },
      {
        header: "Retry-Delay",
        label: "Retry delay",
        placeholder: "1000 * pow(2, retried)",
        hint: "In ms",
        client: "retryDelay",
      },
    ],
  },
  {
    title: "Order and limits",
    rows: [
      { header: "Queue-Name", label: "Queue", placeholder: "orders" },
      { header: "Flow-Control-Key", label: "Flow-control key", placeholder: "customer-1" },
      {
        header: "Flow-Control-Value",
        label: "Limits of the key",
        placeholder: "parallelism=2, rate=10, period=1m",
      },
    ],
  },
  {
    title: "Callbacks",
    rows: [
      { header: "Callback", label: "Callback", placeholder: "https://example.com/callback", client: "callback" },
      {
        header: "Failure-Callback",
        label: "Failure callback",
        placeholder: "https://example.com/failed",
        client: "failureCallback",
      },
    ],
  },
  {
    title: "Identity and privacy",
    rows: [
      { header: "Label", label: "Labels", placeholder: "red,blue", client: "label" },
      {
        header: "Deduplication-Id",
        label: "Deduplication id",
        placeholder: "order-17",
        client: "deduplicationId",
        only: "message",
      },
      {
        header: "Content-Based-Deduplication",
        label: "Content-based deduplication",
        placeholder: "true",
        client: "contentBasedDeduplication",
        only: "message",
      },
      {
        header: "Redact-Fields",
        label: "Redacted fields",
        placeholder: "body, header[Authorization]",
        hint: "Shown as a hash in lists",
      },
    ],
  },
];

const optionRows = optionGroups.flatMap(({ rows }) => rows);

export function rowsFor(kind: MessageForm["kind"], rows: readonly OptionRow[]): readonly OptionRow[] {
  return rows.filter(({ only }) => only === undefined || only === kind);
}

/** The headers of the request. */
export function headersOf(form: MessageForm): readonly Pair[] {
  const named = (pairs: readonly Pair[], prefix: string): Pair[] =>
    pairs.filter(([name]) => name.trim() !== "").map(([name, value]) => [`${prefix}${name.trim()}`, value]);
  return [
    ...(form.method === "POST" ? [] : [["Upstash-Method", form.method] as const]),
    ...(form.contentType === "" ? [] : [["Content-Type", form.contentType] as const]),
    ...rowsFor(form.kind, optionRows).flatMap(({ header }): Pair[] => {
      const value = form.options[header]?.trim() ?? "";
      return value === "" ? [] : [[`Upstash-${header}`, value]];
    }),
    ...named(form.others, "Upstash-"),
    ...named(form.forwarded, "Upstash-Forward-"),
  ];
}

/** The route after `/v2/`, before the destination. */
export function routeOf({ kind }: MessageForm): "publish" | "schedules" {
  return kind === "message" ? "publish" : "schedules";
}

export function curlOf(form: MessageForm): string {
  const lines = [
    `curl -X POST "$QSTASH_URL"${quoted(`/v2/${routeOf(form)}/${form.destination || "https://…"}`)}`,
    '-H "Authorization: Bearer $QSTASH_TOKEN"',
    ...headersOf(form).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(form.body === "" ? [] : [`--data-binary ${quoted(form.body)}`]),
  ];
  return lines.join(" \\\n  ");
}

/** A word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The call of `@upstash/qstash` that sends the same. */
export function clientCodeOf(form: MessageForm): string {
  const option = (header: string): string | undefined => form.options[header]?.trim() || undefined;
  const { destination, kind, method, body } = form;
  const fields: [string, unknown][] = [
    [kind === "schedule" ? "destination" : destination.includes("://") ? "url" : "urlGroup", destination],
  ];
  if (method !== "POST") fields.push(["method", method]);
  if (body !== "") fields.push(["body", body]);
  const sent = clientHeaders(form);
  if (sent.length > 0) fields.push(["headers", Object.fromEntries(sent)]);
  for (const { header, client, isNumber } of rowsFor(kind, optionRows)) {
    const value = option(header);
    if (client === undefined || value === undefined) continue;
    fields.push([client, client === "contentBasedDeduplication" ? value === "true" : isNumber ? Number(value) : value]);
  }
  const key = option("Flow-Control-Key");
  if (key !== undefined) fields.push(["flowControl", { key, ...limitsOf(option("Flow-Control-Value") ?? "") }]);
  const redact = option("Redact-Fields");
  if (redact !== undefined) fields.push(["redact", redactOf(redact)]);
  const queue = option("Queue-Name");
  if (kind === "schedule" && queue !== undefined) fields.push(["queueName", queue]);
  const call =
    kind === "schedule"
      ? "client.schedules.create"
      : queue === undefined
        ? "client.publish"
        : `client.queue({ queueName: ${JSON.stringify(queue)} }).enqueue`;
  const lines = fields.map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`);
  return `import { Client } from "@upstash/qstash";

// Reads QSTASH_URL and QSTASH_TOKEN.
const client = new Client();
await ${call}({
${lines.join("\n")}
});`;
}

/** The client forwards headers without a prefix of its own, and sends those with one as they are. */
function clientHeaders({ contentType, others, forwarded }: MessageForm): readonly Pair[] {
  const isNamed = ([name]: Pair): boolean => name.trim() !== "";
  return [
    ...(contentType === "" ? [] : [["Content-Type", contentType] as const]),
    ...others.filter(isNamed).map(([name, value]): Pair => [`Upstash-${name.trim()}`, value]),
    ...forwarded.filter(isNamed).map(([name, value]): Pair => [name.trim(), value]),
  ];
}

/** `parallelism=2, rate=10, period=1m` as an object. */
function limitsOf(text: string): Record<string, string | number> {
  const pairs = text.split(",").map((part) => part.split("=").map((word) => word.trim()));
  return Object.fromEntries(
    pairs.flatMap(([name = "", value = ""]) =>
      name === "" ? [] : [[name, /^\d+$/.test(value) ? Number(value) : value]],
    ),
  );
}

function redactOf(text: string): { body?: true; header?: true | string[] } {
  const parts = text.split(",").map((part) => part.trim());
  const names = parts.flatMap((part) => /^header\[(.*)\]$/.exec(part)?.[1] ?? []);
  return {
    ...(parts.includes("body") && { body: true }),
    ...(parts.includes("headers") ? { header: true } : names.length > 0 && { header: names }),
  };
}
