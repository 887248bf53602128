/** npm run generate */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { generatedFiles } from "./generated.ts";

for (const { path, text } of generatedFiles()) writeFileSync(resolve(import.meta.dirname, "../..", path), text);
