/**
 * All areas on one port, for hosts with only one: `/store`, `/vector` and
 * `/messaging` are the base paths, and each area sees paths without its prefix.
 */
import { noSuchArea } from "../errors.ts";
import type { HttpReply, HttpService } from "../handler.ts";
import { failureReply } from "../respond.ts";
import { WrappedHead, WrappedRequest } from "../wrapped-request.ts";

/** Areas by prefix; a prefix begins with a slash and has no other slash. */
export function areaByPrefix(areas: Readonly<Record<string, HttpService>>): HttpService {
  const byPrefix = new Map(Object.entries(areas));
  const unknown: HttpReply = { ...failureReply(noSuchArea([...byPrefix.keys()])), route: "unknown area" };
  const find = (target: string): { area: HttpService; rest: string } | undefined => {
    const prefix = /^\/[^/?]*/.exec(target)?.[0] ?? "";
    const area = byPrefix.get(prefix);
    if (area === undefined) return undefined;
    const rest = target.slice(prefix.length);
    return { area, rest: rest.startsWith("/") ? rest : `/${rest}` };
  };
  return {
    handle(request) {
      const found = find(request.target);
      return found === undefined ? unknown : found.area.handle(new WrappedRequest(request, { target: found.rest }));
    },
    bodyBytesMax(target) {
      const found = find(target);
      return found === undefined ? 0 : found.area.bodyBytesMax(found.rest);
    },
    refuseEarly(head) {
      const found = find(head.target);
      return found === undefined ? unknown : found.area.refuseEarly?.(new WrappedHead(head, { target: found.rest }));
    },
    refusal(failure, target) {
      const found = find(target);
      return found?.area.refusal?.(failure, found.rest) ?? failureReply(failure);
    },
  };
}
