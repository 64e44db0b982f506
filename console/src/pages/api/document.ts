/** The OpenAPI documents that the server has, as lists of operations. */
import { type Json, request } from "../../api/client.ts";

export const areas = [
  ["store", "Store"],
  ["vector", "Vector"],
  ["messaging", "Messaging"],
  ["admin", "Admin port"],
] as const;

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
}

interface Content {
  readonly schema?: Json;
  readonly example?: Json;
}

interface Body {
  readonly content?: Readonly<Record<string, Content>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly "x-token": "open" | "read-only" | "standard";
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body & { readonly description: string }>>;
}

export interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

interface Reference {
  readonly $ref: string;
}

interface OpenApi {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, Operation & { readonly parameters?: readonly (Parameter | Reference)[] }>>>
  >;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

/** The operations of an area, in the order of its document. */
export async function readOperations(area: string, signal: AbortSignal): Promise<readonly Listed[]> {
  const { paths, components } = await request<OpenApi>(`openapi/${encodeURIComponent(area)}`, { signal });
  const whole = (parameter: Parameter | Reference): Parameter[] => {
    if (!("$ref" in parameter)) return [parameter];
    const found = components.parameters[parameter.$ref.slice(parameter.$ref.lastIndexOf("/") + 1)];
    return found === undefined ? [] : [found];
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: { ...operation, parameters: (operation.parameters ?? []).flatMap(whole) },
    })),
  );
}

/** The example of a body, as text; undefined: it has none. */
export function exampleText({ content = {} }: Body): string | undefined {
  const [first] = Object.values(content);
  if (first?.example === undefined) return undefined;
  return typeof first.example === "string" ? first.example : JSON.stringify(first.example);
}

export const tokens: Readonly<Record<Operation["x-token"], string>> = {
  open: "none",
  "read-only": "read-only",
  standard: "standard",
};
