/** The start of the console: asks who is here, then shows the pages. */
import "./style/base.css";
import { render } from "preact";
import { loadSession } from "./api/session.ts";
import { App } from "./app.tsx";
import { applyTheme } from "./parts/theme.ts";

applyTheme();
const root = document.getElementById("app");
// The note that the page is loading.
root?.replaceChildren();
if (root !== null) render(<App />, root);
void loadSession();
