import { render } from "preact";
import { loadTools, placeChanged, takeUp } from "./run/playground.ts";
import { App } from "./views/app.tsx";

// First, so that a small screen opens at what the address names.
takeUp();
const root = document.getElementById("app");
if (root) render(<App />, root);
addEventListener("hashchange", placeChanged);
void loadTools();
