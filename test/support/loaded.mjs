/** Loaded in front of a process (`--import`): writes the path of each module that it loads to the file at LOADED, a line each. */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

registerHooks({
  load(url, context, next) {
    if (url.startsWith("file:")) appendFileSync(process.env.LOADED, `${fileURLToPath(url)}\n`);
    return next(url, context);
  },
});
