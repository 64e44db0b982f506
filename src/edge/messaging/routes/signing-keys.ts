/** Signing keys (C.signing-keys). A read-only token sees none (threats C-20). */
import { type MessagingAnswer, type MessagingCall, messagingRows } from "../route.ts";

export const signingKeyRoutes = messagingRows([
  {
    id: "getSigningKeys",
    rule: "C",
    method: "GET",
    template: "/v2/keys",
    summary: "the signing keys, `current` and `next`",
    isRateLimited: true,
    run: ({ door }) => ({ value: keysView(door.signingKeys) }),
  },
  {
    id: "rotateSigningKeys",
    rule: "C",
    method: "POST",
    template: "/v2/keys/rotate",
    summary: "makes `next` the current one, and a fresh one next",
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
