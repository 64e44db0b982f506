import { testQuickstart } from "./checks.mjs";

testQuickstart(() => ["./application"], { hasWorkflow: false });
