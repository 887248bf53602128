import { isAbsolute, join } from "node:path";
import type { FileStore } from "@parley/core";
import { z } from "zod";
import { directoryFiles } from "./directory.ts";

/** What the environment says about files. Front ends and workers merge this into their settings. */
export const filesEnvironment = {
  PARLEY_FILES: z
    .string()
    .refine(
      (text) => text.startsWith("dir:") && isAbsolute(text.slice(4)),
      "must be dir: and an absolute path, such as dir:/var/lib/parley/files",
    )
    .optional()
    .describe("Where uploaded files are kept: dir:/path, which all front ends and workers share. Unset: tools cannot ask for files."),
};

/** For front ends. */
export const uploadEnvironment = {
  PARLEY_FILE_BYTES_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .default(1_073_741_824)
    .describe(
      "Largest file that people may upload, in bytes, even if a tool asks for larger ones. It has to arrive within PARLEY_REQUEST_TIMEOUT.",
    ),
};

const schema = z.object(filesEnvironment);

/** `prefix` is the deployment's own: several may share a directory. */
export function fileStore({ PARLEY_FILES: where }: z.output<typeof schema>, prefix: string): FileStore | undefined {
  return where === undefined ? undefined : directoryFiles(join(where.slice("dir:".length), prefix.replaceAll(/[^\w-]/g, "_")));
}
