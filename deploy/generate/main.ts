/** npm run generate */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { generatedApi, generatedFiles } from "./generated.ts";

for (const { path, text } of [...generatedFiles(), ...(await generatedApi())])
  writeFileSync(resolve(import.meta.dirname, "../..", path), text);
