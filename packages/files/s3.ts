/**
 * Stores files in a bucket of an S3-compatible server that all front ends and workers can reach:
 *
 *   <bucket>/<prefix>/<deployment>/<task id>/<file id>        an object, visible only when the upload is complete
 *
 * A file is uploaded in parts as it arrives, so that a process holds at most two parts of it in memory. A failed upload is aborted, which
 * deletes its parts. A process that dies leaves an unfinished upload behind; `idle` aborts it later.
 */
import { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  NoSuchKey,
  paginateListObjectsV2,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { cut, type FileStore, ParleyError } from "@parley/core";
import { gone, isFileId, isTaskId } from "./ids.ts";

export interface S3Settings {
  readonly bucket: string;
  /** Prefix of object names: empty, or with a trailing slash. */
  readonly prefix: string;
  /** Address of a server other than Amazon's, such as `https://minio.example.com`. */
  readonly endpoint: string | undefined;
  readonly region: string;
}

/** Size of a part; an upload holds at most two parts in memory. S3 accepts no smaller parts, and up to 10,000 of them, so files up to 48 GiB. */
export const PART_BYTES = 5 * 1_024 * 1_024;
const ATTEMPTS = 3;
const CONNECT_MS = 5_000;
const REQUEST_MS = 60_000;

/** Finds credentials as AWS tools do: in environment variables, in files, or from the role of the machine or pod. */
export function s3Files({ bucket: Bucket, prefix, endpoint, region }: S3Settings): FileStore {
  const client = new S3Client({
    region,
    maxAttempts: ATTEMPTS,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
    // Other servers support neither checksums in trailers nor buckets in host names.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
  });

  function folderOf(taskId: string): string {
    if (!isTaskId(taskId)) throw new TypeError("not a task id");
    return `${prefix}${taskId}/`;
  }

  function keyOf(taskId: string, id: string): string {
    if (!isFileId(id)) throw gone();
    return `${folderOf(taskId)}${id}`;
  }

  async function removeKey(Key: string): Promise<void> {
    await reached(client.send(new DeleteObjectCommand({ Bucket, Key })));
  }

  async function* objects(Prefix: string) {
    try {
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket, Prefix })) yield* Contents;
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Aborts uploads of processes that died. Otherwise S3 would keep them, and charge for them, forever. */
  async function abortUploads(before: number): Promise<void> {
    let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
    while (marker) {
      const page: ListMultipartUploadsCommandOutput = await reached(
        client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix, ...marker })),
      );
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if ((Initiated?.getTime() ?? Infinity) < before)
          await reached(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })));
      }
      const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
      marker =
        page.IsTruncated && KeyMarker !== undefined ? { KeyMarker, ...(UploadIdMarker !== undefined && { UploadIdMarker }) } : undefined;
    }
  }

  return {
    async put(taskId, id, content) {
      const key = keyOf(taskId, id);
      let failed: { readonly error: unknown } | undefined;
      async function* watched() {
        try {
          yield* content;
        } catch (error) {
          failed = { error };
          throw error;
        }
      }
      const upload = new Upload({
        client,
        params: { Bucket, Key: key, Body: Readable.from(watched(), { objectMode: false }) },
        partSize: PART_BYTES,
        queueSize: 1,
      });
      try {
        await upload.done();
      } catch (error) {
        if (failed) throw failed.error;
        throw unavailable(error);
      }
    },

    async open(taskId, id) {
      const key = keyOf(taskId, id);
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: key }));
        if (!Body) throw gone();
        return Body.transformToWebStream() as ReadableStream<Uint8Array>;
      } catch (error) {
        if (error instanceof NoSuchKey) throw gone();
        throw unavailable(error);
      }
    },

    async remove(taskId, id) {
      if (id !== undefined) return await removeKey(keyOf(taskId, id));
      for await (const { Key } of objects(folderOf(taskId))) if (Key !== undefined) await removeKey(Key);
    },

    async *idle(idleMs) {
      const before = Date.now() - idleMs;
      await abortUploads(before);
      // Names are listed in order, so the files of a task follow one another.
      let task: { readonly id: string; newest: number } | undefined;
      for await (const { Key = "", LastModified } of objects(prefix)) {
        const [id = ""] = Key.slice(prefix.length).split("/");
        if (!isTaskId(id)) continue;
        if (task && task.id !== id && task.newest < before) yield task.id;
        if (task?.id !== id) task = { id, newest: 0 };
        task.newest = Math.max(task.newest, LastModified?.getTime() ?? Infinity);
      }
      if (task && task.newest < before) yield task.id;
    },
  };
}

async function reached<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    throw unavailable(error);
  }
}

function unavailable(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  const { name = "Error", message = "" } = error as { readonly name?: string; readonly message?: string };
  return new ParleyError("FILES_UNAVAILABLE", `the file store failed: ${cut(`${name} ${message}`, 200)}`);
}
