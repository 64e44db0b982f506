import { testQuickstart } from "./checks.mjs";

testQuickstart(() => [process.execPath, "dist/server.js"]);
