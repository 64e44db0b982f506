/**
 * The pages of the API, from the OpenAPI documents: for each area its operations by tag, with their parameters, an example,
 * and the types of bodies and answers.
 */
import { describedAreas } from "../../src/edge/openapi/area-documents.ts";
import { resolverOf } from "../../src/edge/openapi/document.ts";
import { exampleOf, pathExample } from "../../src/edge/openapi/examples.ts";
import {
  type AreaDescription,
  JSON_TYPE,
  type Operation,
  type Parameter,
  tagOf,
} from "../../src/edge/openapi/operation.ts";
import { code, header, row } from "../reference/table.ts";
import type { SitePage } from "./pages.ts";
import { typeText } from "./type-text.ts";

/** The API of the console is for its pages only, and may change with any version. */
const areas = {
  store: { title: "API of the store", address: "http://127.0.0.1:8079" },
  vector: { title: "API of the vector index", address: "http://127.0.0.1:8081" },
  messaging: { title: "API of messaging", address: "http://127.0.0.1:8080" },
  admin: { title: "API of the admin port", address: "http://127.0.0.1:8082" },
} as const satisfies Partial<Record<keyof typeof describedAreas, object>>;

type Area = keyof typeof areas;

/** A table of more headers than these would repeat the page of headers. */
const HEADERS_SHOWN_MAX = 5;
/** Of the vector index; where a path may do without it, both are one operation. */
const NAMESPACE = "/{namespace}";

export function apiPages(): readonly SitePage[] {
  return (Object.keys(areas) as Area[]).map((name) => {
    const { title } = areas[name];
    return {
      path: `api/${name}.md`,
      title,
      summary: "Operations with examples, and the types of bodies and answers",
      text: pageText(name),
    };
  });
}

function pageText(name: Area): string {
  const area: AreaDescription = describedAreas[name]();
  const { title, address } = areas[name];
  return [
    `# ${title}`,
    `From the OpenAPI document that the port serves at \`GET ${address}/openapi.json\`, without a token. [Routes](../reference/routes.md) has all paths in one table.`,
    area.description,
    ...area.tags.flatMap((tag) => {
      const operations = area.operations.filter(({ path }) => tagOf(area, path) === tag);
      const groups = Map.groupBy(operations, ({ path, summary }) => `${path.replace(NAMESPACE, "")} ${summary}`);
      return [
        `## ${tag.name}`,
        `${tag.description}.`,
        ...[...groups.values()].flatMap((same) => operationText(same, { area, address })),
      ];
    }),
    "## Types",
    typeBlock(Object.entries(area.schemas).map(([schema, shape]) => `type ${schema} = ${typeText(shape)};`)),
  ].join("\n\n");
}

interface Place {
  readonly area: AreaDescription;
  readonly address: string;
}

/** Operations of one path that differ only in their methods or in the namespace. */
function operationText(same: readonly Operation[], place: Place): readonly string[] {
  // One with a body says more than the same with another method.
  const operation = same.find(({ body }) => body !== undefined) ?? same[0];
  if (operation === undefined) return [];
  const { summary, description, answers, token } = operation;
  const lines = new Set(same.map(({ method, path }) => code(`${method.toUpperCase()} ${path}`)));
  return [
    `### ${summary.replaceAll("<", "\\<")}`,
    [...lines].join(" · "),
    ...(description === undefined ? [] : [description]),
    tokens[token],
    ...parametersText(new Set(same.flatMap(({ parameters }) => parameters))),
    ...exampleText(operation, place),
    ...typesText(operation),
    answers.map(({ status, meaning }) => `${status} ${meaning}`).join(" · "),
  ];
}

const tokens: Readonly<Record<Operation["token"], string>> = {
  open: "It needs no token.",
  "read-only": "The read-only token is enough.",
  standard: "It needs the standard token.",
};

function parametersText(parameters: ReadonlySet<Parameter>): readonly string[] {
  const described = [...parameters].filter((each) => each.in !== "path" || each.description !== undefined);
  const headers = described.filter((each) => each.in === "header");
  const shown = headers.length > HEADERS_SHOWN_MAX ? described.filter((each) => each.in !== "header") : described;
  const table = [
    ...header("parameter", "in", "type", "meaning"),
    ...shown.map((each) => row(code(each.name), each.in, code(typeText(each.schema)), each.description ?? "")),
  ];
  return [
    ...(shown.length > 0 ? [table.join("\n")] : []),
    ...(shown.length < described.length ? ["Its options are [headers](../reference/headers.md)."] : []),
  ];
}

function exampleText(operation: Operation, { area, address }: Place): readonly string[] {
  const { method, path, body, answers, token, example = {}, parameters } = operation;
  const resolve = resolverOf(area);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((each) => each.in === "path" && each.name === name);
    return String(parameter?.example ?? pathExample(name));
  });
  const [success] = answers;
  const [type, schema] = Object.entries(success?.content ?? {})[0] ?? [];
  const sent = body && (example.request ?? exampleOf(body.schema, resolve));
  const words = [
    method === "head"
      ? "curl --head"
      : method === "get" || (method === "post" && sent !== undefined)
        ? "curl"
        : `curl -X ${method.toUpperCase()}`,
    `"${address}${filled}"`,
    ...(token === "open" ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...parameters
      .filter((each) => each.in === "header" && each.isRequired)
      .map((each) => `-H "${each.name}: ${exampleOf(each.schema, resolve, each.name)}"`),
    ...(sent === undefined ? [] : [`-d '${typeof sent === "string" ? sent : JSON.stringify(sent)}'`]),
  ];
  const answer = schema === undefined ? undefined : (example.answer ?? exampleOf(schema, resolve));
  return [
    fenced("sh", words.join(" \\\n  ")),
    ...(answer === undefined
      ? []
      : [
          type === JSON_TYPE
            ? fenced("json", JSON.stringify(answer, undefined, 2))
            : fenced("text", String(answer).trim()),
        ]),
  ];
}

function typesText({ body, answers }: Operation): readonly string[] {
  const answer = answers[0]?.content[JSON_TYPE];
  const types = [
    ...(body?.contentType === JSON_TYPE ? [`type Body = ${typeText(body.schema)};`] : []),
    ...(answer === undefined ? [] : [`type Answer = ${typeText(answer)};`]),
  ];
  return types.length === 0 ? [] : [typeBlock(types)];
}

function typeBlock(types: readonly string[]): string {
  return fenced("ts", types.join("\n"));
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}
