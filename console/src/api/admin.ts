/** What the admin routes answer: types of the server, which are no code in the console. */
export type { Problem } from "../../../src/edge/admin/problem.ts";
export type { SettingFacts, SettingValue } from "../../../src/edge/admin/settings.ts";
export type { ClientFacts } from "../../../src/store/session/client-facts.ts";
