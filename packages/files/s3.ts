/**
 * Files in a bucket of an S3-compatible server, which all front ends and workers reach:
 *
 *   <bucket>/<prefix>/<deployment>/<task id>/<file id>        an object, there once all of it has arrived
 *
 * A file goes up in parts as it arrives, so that no process holds more of it than a part or two. An upload that fails is aborted: its parts go. What a
 * process leaves that dies meanwhile is an upload that never ended; `idle` aborts it.
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
  /** Before the names of objects; `""` or with a slash at its end. */
  readonly prefix: string;
  /** Of a server that is not Amazon's: `https://minio.example.com`. */
  readonly endpoint: string | undefined;
  readonly region: string;
}

/** What one upload holds in memory, twice at most. S3 takes no smaller ones, and 10,000 of them: 48 GiB. */
export const PART_BYTES = 5 * 1_024 * 1_024;
const ATTEMPTS = 3;
const CONNECT_MS = 5_000;
const REQUEST_MS = 60_000;

/** Credentials are found as AWS' tools find them: variables of the environment, files, the role of a machine or pod. */
export function s3Files({ bucket: Bucket, prefix, endpoint, region }: S3Settings): FileStore {
  const client = new S3Client({
    region,
    maxAttempts: ATTEMPTS,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: REQUEST_MS, throwOnRequestTimeout: true },
    // Servers other than Amazon's know neither checksums in trailers nor buckets as hosts.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
  });

  function folderOf(taskId: string): string {
    if (!isTaskId(taskId)) throw new TypeError("no task id");
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

  /** Of processes that died: nobody else would end them, and they are kept, and charged, for good. */
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
      // Names come in their order: those of a task one after the other.
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

async function reached<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw unavailable(error);
  }
}

function unavailable(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  const { name = "Error", message = "" } = error as { readonly name?: string; readonly message?: string };
  return new ParleyError("FILES_UNAVAILABLE", `the file store does not do what is asked of it: ${cut(`${name} ${message}`, 200)}`);
}
