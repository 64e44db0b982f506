import { testQuickstart } from "./checks.mjs";

testQuickstart(() => [process.execPath, ".output/server/index.mjs"]);
