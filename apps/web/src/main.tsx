import { render } from "preact";
import { loadTools, placeChanged, takeUp } from "./run/playground.ts";
import { App } from "./views/app.tsx";

const root = document.getElementById("app");
if (root) render(<App />, root);
addEventListener("hashchange", placeChanged);
takeUp();
void loadTools();
