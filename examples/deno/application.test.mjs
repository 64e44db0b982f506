import { testQuickstart } from "./checks.mjs";

testQuickstart(() => ["deno", "run", "--allow-net", "--allow-env", "server.ts"]);
