import { testQuickstart } from "./checks.mjs";

testQuickstart(() => ["react-router-serve", "build/server/index.js"]);
