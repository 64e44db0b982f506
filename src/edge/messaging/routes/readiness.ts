/** Whether messaging is ready (C.readiness). An area that answers is ready, so the answer is always the same. */
import { messagingRows } from "../route.ts";

export const readinessRoutes = messagingRows([
  {
    id: "getReadiness",
    rule: "C",
    method: "GET",
    template: "/v2/readiness",
    summary: "returns that messaging is ready",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: () => ({ value: { ready: true } }),
  },
]);
