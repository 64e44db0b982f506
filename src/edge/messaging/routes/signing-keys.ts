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
    run: ({ door }) => ({ value: keysView(door.signingKeys) }),
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

async function rotate({ door }: MessagingCall): Promise<MessagingAnswer> {
  return { value: keysView(await door.rotateSigningKeys()) };
}

function keysView({ current, next }: MessagingCall["door"]["signingKeys"]): object {
  return { current, next };
}
