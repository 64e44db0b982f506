/**
 * The place of the console on the admin port. Its code is loaded by the first
 * request for it: most servers never have one.
 */
import { busy, consoleOff } from "../../errors.ts";
import type { HttpService, RequestHead } from "../../handler.ts";
import { failureReply } from "../../respond.ts";

export interface ConsoleMount {
  readonly isEnabled: boolean;
  /** The most bytes of a request for an area. */
  readonly bodyBytesMax: number;
  /** Called once. */
  readonly load: () => Promise<HttpService>;
  /** Headers of a refusal: name, value, … */
  readonly headers: readonly string[];
}

/** Tokens, and names of values. */
const OWN_BODY_BYTES_MAX = 16 * 1_024;

/** The area, with the console under `/console`. */
export function withConsole(area: HttpService, { isEnabled, bodyBytesMax, load, headers }: ConsoleMount): HttpService {
  let loading: Promise<HttpService> | undefined;
  let loaded: HttpService | undefined;
  const open = async (): Promise<HttpService> => {
    loading ??= load();
    loaded = await loading;
    return loaded;
  };
  return {
    ...area,
    handle(request) {
      if (!isForConsole(request.target)) return area.handle(request);
      if (!isEnabled) return { ...failureReply(consoleOff, headers), route: "console" };
      return loaded === undefined ? open().then((own) => own.handle(request)) : loaded.handle(request);
    },
    bodyBytesMax(target) {
      if (!isForConsole(target)) return area.bodyBytesMax(target);
      return isEnabled && isForArea(target) ? bodyBytesMax : OWN_BODY_BYTES_MAX;
    },
    refuseEarly(head: RequestHead) {
      if (!isForConsole(head.target)) return area.refuseEarly?.(head);
      if (!isEnabled || loaded !== undefined) return loaded?.refuseEarly?.(head);
      void open().catch(() => {}); // The next request has the same failure, and reports it.
      return failureReply(busy, headers);
    },
  };
}

/** `/console`, `/console/…` and `/console?…`. */
function isForConsole(target: string): boolean {
  return /^\/console(?:[/?]|$)/.test(target);
}

function isForArea(target: string): boolean {
  return /^\/console\/api\/(?:store|vector|messaging)\//.test(target);
}
