/**
 * Renders the templates of our Helm chart, without Helm: the part of its language that they use, and nothing else.
 *
 *     {{ .Values.a.b }}   {{ $name }}   {{ . }}
 *     {{ x | quote }}   {{ x | default y }}   {{ toYaml x | nindent 8 }}
 *     {{ if x }} … {{ else }} … {{ end }}   {{ with x }} … {{ end }}   {{ range $key, $value := x }} … {{ end }}
 *
 * `{{-` takes the white space before it away. Everything else throws.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";

export type Values = Readonly<Record<string, unknown>>;

interface Scope {
  /** `.` */
  readonly dot: unknown;
  /** `.` of the whole template. */
  readonly top: Values;
  /** With their `$`. */
  readonly names: ReadonlyMap<string, unknown>;
}

type Part = { readonly text: string } | { readonly action: string };

/** The objects of the chart in a folder, as `helm template` would print them. */
export function renderChart(folder: string, values: Values): readonly unknown[] {
  const chart = parse(readFileSync(join(folder, "Chart.yaml"), "utf8"));
  const top: Values = {
    Values: values,
    Chart: { AppVersion: chart.appVersion },
    Release: { Name: "larder", Namespace: "larder" },
  };
  const templates = join(folder, "templates");
  return readdirSync(templates)
    .sort()
    .flatMap((name) => {
      const text = renderTemplate(readFileSync(join(templates, name), "utf8"), top);
      return name.endsWith(".yaml") ? objectsIn(text) : [];
    });
}

/** The objects of a file with several documents. Throws if one is not valid YAML. */
export function objectsIn(text: string): readonly unknown[] {
  return parseAllDocuments(text).flatMap((document) => {
    for (const fault of document.errors) throw fault;
    const value: unknown = document.toJS();
    return value === null ? [] : [value];
  });
}

function renderTemplate(text: string, top: Values): string {
  const parts = partsOf(text);
  const rendered = renderUntil(parts, { dot: top, top, names: new Map() });
  if (rendered.end !== undefined) throw new Error(`{{ ${rendered.end} }} without a block`);
  return rendered.text;
}

function partsOf(template: string): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const found of template.matchAll(/\{\{(-?)\s*(.*?)\s*\}\}/g)) {
    const text = template.slice(from, found.index);
    parts.push({ text: found[1] === "-" ? text.trimEnd() : text }, { action: found[2] ?? "" });
    from = found.index + found[0].length;
  }
  return [...parts, { text: template.slice(from) }];
}

/** Takes parts up to the end of the block, or to its `else`. */
function renderUntil(parts: Part[], scope: Scope): { text: string; end: string | undefined } {
  let text = "";
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    if ("text" in part) text += part.text;
    else if (part.action === "end" || part.action === "else") return { text, end: part.action };
    else if (/^(?:if|with|range) /.test(part.action)) text += renderBlock(part.action, parts, scope);
    else text += String(evaluate(part.action, scope));
  }
  return { text, end: undefined };
}

function renderBlock(action: string, parts: Part[], scope: Scope): string {
  const [, kind = "", names = "", expression = ""] = /^(\w+) (?:(\$\w+, \$\w+) := )?(.*)$/.exec(action) ?? [];
  const value = evaluate(expression, scope);
  const body = [...parts];
  const scopes = kind === "range" ? entriesOf(value, names, scope) : isTrue(value) ? [scopeOf(kind, value, scope)] : [];
  // Rendered once in any case, to find where it ends.
  let { end } = renderUntil(parts, { ...scope, names: new Map([...scope.names, ...names.split(", ").map(toEntry)]) });
  let text = scopes.map((each) => renderUntil([...body], each).text).join("");
  if (end === "else") {
    const other = renderUntil(parts, scope);
    if (scopes.length === 0) text = other.text;
    end = other.end;
  }
  if (end !== "end") throw new Error(`{{ ${action} }} has no end`);
  return text;
}

function toEntry(name: string): readonly [string, unknown] {
  return [name, ""];
}

function scopeOf(kind: string, value: unknown, scope: Scope): Scope {
  return kind === "with" ? { ...scope, dot: value } : scope;
}

function entriesOf(value: unknown, names: string, scope: Scope): readonly Scope[] {
  const [key = "", item = ""] = names.split(", ");
  return Object.entries(value ?? {}).map(([name, each]) => ({
    ...scope,
    dot: each,
    names: new Map([...scope.names, [key, name], [item, each]]),
  }));
}

function isTrue(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}

function evaluate(expression: string, scope: Scope): unknown {
  const [first = "", ...filters] = expression.split(" | ");
  const [, yaml] = /^toYaml (.*)$/.exec(first) ?? [];
  let value = yaml === undefined ? lookUp(first, scope) : stringify(lookUp(yaml, scope)).trimEnd();
  for (const filter of filters) value = applyFilter(filter, value, scope);
  return value;
}

function applyFilter(filter: string, value: unknown, scope: Scope): unknown {
  const [name = "", argument = ""] = filter.split(" ");
  switch (name) {
    case "quote":
      return JSON.stringify(String(value));
    case "default":
      return isTrue(value) ? value : lookUp(argument, scope);
    case "nindent":
      return String(value)
        .replace(/^/gm, " ".repeat(Number(argument)))
        .replace(/^/, "\n");
    default:
      throw new Error(`Unknown filter ${filter}`);
  }
}

function lookUp(path: string, { dot, top, names }: Scope): unknown {
  if (path === ".") return dot;
  if (names.has(path)) return names.get(path);
  if (!/^(?:\.\w+)+$/.test(path)) throw new Error(`Unknown expression ${path}`);
  let value: unknown = dot === top ? top : dot;
  for (const name of path.slice(1).split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      throw new Error(`${path} does not exist`);
    value = new Map(Object.entries(value)).get(name);
  }
  return value;
}
