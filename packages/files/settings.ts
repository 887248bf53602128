import { isAbsolute, join } from "node:path";
import type { FileStore } from "@parley/core";
import { z } from "zod";
import { directoryFiles } from "./directory.ts";

/** `s3://bucket` or `s3://bucket/some/prefix`. */
const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w!.*'()/-]{0,200}))?$/;

/** Settings of the file store. Front ends and workers merge them into their own. */
export const filesEnvironment = {
  PARLEY_FILES: z
    .string()
    .refine(
      (text) => (text.startsWith("dir:") && isAbsolute(text.slice(4))) || S3_URL.test(text),
      "must be dir: and an absolute path, such as dir:/var/lib/parley/files, or s3://bucket/prefix",
    )
    .optional()
    .describe(
      "Where uploaded files are stored: dir:/path, shared by all front ends and workers, or s3://bucket/prefix. Unset: tools cannot ask for files.",
    ),
  PARLEY_FILES_ENDPOINT: z
    .string()
    .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ""), "must be an address: https://minio.example.com")
    .optional()
    .describe("Address of an S3-compatible server other than Amazon's, for PARLEY_FILES=s3://…. Unset: Amazon's."),
  PARLEY_FILES_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, "must be the name of a region: eu-central-1")
    .default("us-east-1")
    .describe(
      "Region of the bucket. Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the role of the machine or pod.",
    ),
};

/** Settings for uploads. Front ends merge them into their own. */
export const uploadEnvironment = {
  PARLEY_FILE_BYTES_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .default(1_073_741_824)
    .describe(
      "Largest file that people may upload, in bytes, even if a tool allows larger ones. It must arrive within PARLEY_REQUEST_TIMEOUT.",
    ),
};

export interface FilesSettings {
  readonly PARLEY_FILES?: string | undefined;
  readonly PARLEY_FILES_ENDPOINT?: string | undefined;
  readonly PARLEY_FILES_REGION?: string;
}

/** Picks the settings of the file store. */
export function filesSettings({ PARLEY_FILES, PARLEY_FILES_ENDPOINT, PARLEY_FILES_REGION }: FilesSettings): FilesSettings {
  return { PARLEY_FILES, PARLEY_FILES_ENDPOINT, ...(PARLEY_FILES_REGION !== undefined && { PARLEY_FILES_REGION }) };
}

/**
 * Opens the file store; undefined if none is configured. `deployment` is the prefix of the deployment, since several may share a directory or
 * a bucket. Throws an Error that names the packages to install if those for a bucket are missing.
 */
export async function fileStore(
  { PARLEY_FILES: where, PARLEY_FILES_ENDPOINT: endpoint, PARLEY_FILES_REGION: region = "us-east-1" }: FilesSettings,
  deployment: string,
): Promise<FileStore | undefined> {
  if (where === undefined) return undefined;
  const folder = deployment.replaceAll(/[^\w-]/g, "_");
  if (where.startsWith("dir:")) return directoryFiles(join(where.slice("dir:".length), folder));
  const [, bucket = "", path = ""] = S3_URL.exec(where) ?? [];
  const prefix = [...path.split("/").filter((part) => part !== ""), folder, ""].join("/");
  // Loaded only if it is used.
  const { s3Files } = await import("./s3.ts").catch((cause: unknown) => {
    throw notInstalled(cause);
  });
  return s3Files({ bucket, prefix, endpoint, region });
}

function notInstalled(cause: unknown): unknown {
  if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") return cause;
  return new Error("PARLEY_FILES=s3://… needs two packages that are not installed: npm install @aws-sdk/client-s3 @aws-sdk/lib-storage", {
    cause,
  });
}
