import { render } from "preact";
import { languageNow } from "./language.ts";
import { TEXTS } from "./play-texts.ts";
import { loadTools, placeChanged, comeBack, resumeFromAddress, findFirstAccount } from "./run/playground.ts";
import { returnToPlace } from "./run/tab-state.ts";
import { followTranslation } from "./translated.ts";
import { App } from "./views/app.tsx";

document.documentElement.lang = languageNow();
document.title = TEXTS.title;
returnToPlace();
// Before anything is asked of the server, which would refuse what comes from nobody.
await findFirstAccount();
// Before rendering, so that a small screen opens with the pane of the call that the address names.
resumeFromAddress();
const root = document.getElementById("app");
if (root) {
  followTranslation(root);
  render(<App />, root);
}
addEventListener("hashchange", placeChanged);
addEventListener("focus", () => void comeBack());
void loadTools();
