import { testQuickstart } from "./checks.mjs";

testQuickstart((port) => ["php", "-S", `127.0.0.1:${port}`, "public/index.php"], { hasWorkflow: false });
