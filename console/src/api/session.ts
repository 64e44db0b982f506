/** Who uses the console: in `larder dev` anybody on this machine, in `larder serve` whoever logged in with the admin token. */
import { signal } from "@preact/signals";
import { ApiError, request } from "./client.ts";

export interface Session {
  readonly mode: "dev" | "serve";
  readonly loggedIn: boolean;
  /** Sent with each write. */
  readonly csrf?: string;
  readonly version?: string;
  /** The names of the tenants of each kind; absent without a login. */
  readonly tenants?: Readonly<Record<"databases" | "indexes" | "users", readonly string[]>>;
}

/** Sooner than others: until the first answer there is nothing to use. */
const SESSION_MS_MAX = 20_000;

/** Undefined until larder has answered. */
export const session = signal<Session | undefined>(undefined);
export const sessionError = signal<string | undefined>(undefined);

export async function loadSession(): Promise<void> {
  sessionError.value = undefined;
  try {
    session.value = await request<Session>("session", { waitMs: SESSION_MS_MAX });
  } catch (error) {
    sessionError.value = error instanceof ApiError ? error.message : String(error);
  }
}

/** Throws `ApiError` if the token is wrong, or after too many attempts. */
export async function logIn(token: string): Promise<void> {
  await request("login", { json: { token } });
  await loadSession();
}

export async function logOut(): Promise<void> {
  await request("logout", { method: "POST" });
  await loadSession();
}

/** The session has ended on the server: the page asks for the token again. */
export function endSession(): void {
  if (session.value !== undefined) session.value = { mode: session.value.mode, loggedIn: false };
}
