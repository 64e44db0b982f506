import { testQuickstart } from "./checks.mjs";

testQuickstart(() => ["bun", "src/server.ts"]);
