/**
 * A route of the vector index as a row: one call of the index, read from the
 * request and printed at once. Records may change after the call has returned, so
 * the answer is not read later.
 */
import type { Eventually, IndexApi, VectorLimits } from "../../vector/mod.ts";
import type { Route } from "../route.ts";
import type { JsonBody } from "./json-writer.ts";

export interface VectorCall {
  readonly index: IndexApi;
  /** Empty: the default namespace. */
  readonly namespace: string;
  /** As written, without the `?`. */
  readonly query: string;
  readonly body: Buffer;
  readonly limits: VectorLimits;
}

/** The rule is the number of the route in docs/interface, or `B` for one without a number. */
export interface VectorRoute<Command extends string = string> extends Route<VectorCall, Eventually<JsonBody>> {
  /** The segment of the path that leads here. */
  readonly command: Command;
  readonly summary: string;
  /** Whether the command may be followed by a namespace. */
  readonly takesNamespace: boolean;
  /** A read-only token may not use "write" routes. */
  readonly access: "read" | "write";
}

/**
 * `run` returns the whole body of the answer. The command is a type, so that a row without a description does not
 * compile.
 */
export function vectorRoute<Command extends string>(row: Omit<VectorRoute<Command>, "template">): VectorRoute<Command> {
  return { ...row, template: row.takesNamespace ? `/${row.command}/*` : `/${row.command}` };
}

/** For metrics and the log: `B2 query`. */
export function vectorRouteName({ rule, command }: VectorRoute): string {
  return `${rule} ${command}`;
}
