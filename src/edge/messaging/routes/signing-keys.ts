/** Signing keys (C.signing-keys). A read-only token may not see them (threats C-20). */
import { type MessagingAnswer, type MessagingCall, messagingRows } from "../route.ts";

export const signingKeyRoutes = messagingRows([
  {
    id: "getSigningKeys",
    rule: "C",
    method: "GET",
    template: "/v2/keys",
    summary: "returns the signing keys, `current` and `next`",
    isRateLimited: true,
    run: ({ api }) => ({ value: keysView(api.signingKeys) }),
  },
  {
    id: "rotateSigningKeys",
    rule: "C",
    method: "POST",
    template: "/v2/keys/rotate",
    summary: "makes the `next` key the `current` one and creates a new `next` key",
    isRateLimited: true,
    run: rotate,
  },
]);

async function rotate({ api }: MessagingCall): Promise<MessagingAnswer> {
  return { value: keysView(await api.rotateSigningKeys()) };
}

function keysView({ current, next }: MessagingCall["api"]["signingKeys"]): object {
  return { current, next };
}
