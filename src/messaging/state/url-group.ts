/** A URL group: one name for several endpoints. Each endpoint gets its own message. */
import { badRequest } from "../failure.ts";

export interface Endpoint {
  readonly url: string;
  readonly name?: string;
}

export interface UrlGroup {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  /** Sent to every endpoint unless the publisher forwards a header of that name. */
  readonly headers?: readonly (readonly [name: string, values: string | readonly string[]])[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export function isUrl(destination: string): boolean {
  return destination.startsWith("http://") || destination.startsWith("https://");
}

/** Throws a `MessagingFailure` if none of these groups has the name. */
export function findGroup(groups: ReadonlyMap<string, UrlGroup>, name: string): UrlGroup {
  const group = groups.get(name);
  if (group === undefined) {
    throw badRequest(`Invalid destination: there is no URL group ${name}, and a URL starts with http:// or https://`);
  }
  return group;
}
