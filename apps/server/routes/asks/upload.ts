/**
 * Receives files one chunk at a time. Only the current chunk is in memory, and the first 4 kB, from which the type of a file is detected.
 * Files are stored under the task from the start; if anything fails, all files of the upload are removed.
 */
import { createHash, randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import type { FileRef, FilesWanted, FileStore } from "@parley/core";
import { acceptedType, fileName, HEAD_BYTES } from "@parley/files";
import type { FastifyRequest } from "fastify";
import type { Texts } from "../../texts/en.ts";
import type { NoticeName } from "./views.ts";

export interface Upload {
  readonly taskId: string;
  readonly wanted: FilesWanted;
  readonly files: FileStore;
  /** Whether the fields contain the form's token. Checked before the first file is stored. */
  readonly hasToken: (fields: ReadonlyMap<string, string>) => boolean;
}

export type Uploaded =
  | { readonly type: "stored"; readonly files: readonly FileRef[]; readonly fields: ReadonlyMap<string, string> }
  /** `what` names a text of `files.refused`, in which the parts are filled in. */
  | { readonly type: "problem"; readonly what: keyof Texts["files"]["refused"]; readonly parts: Readonly<Record<string, string | number>> }
  | { readonly type: "notice"; readonly name: NoticeName };

type Refused = Exclude<Uploaded, { type: "stored" }>;

/** Thrown while a file is being read. */
class UploadRefused extends Error {
  readonly refused: Refused;
  constructor(refused: Refused) {
    super("the upload is refused");
    this.refused = refused;
  }
}

const FIELD_BYTES = 200;
const FIELDS_MAX = 10;

export async function receiveUpload({ raw, headers }: FastifyRequest, upload: Upload): Promise<Uploaded> {
  const { taskId, wanted, files, hasToken } = upload;
  const fields = new Map<string, string>();
  const open = new Set<Readable>();
  const storing: Promise<FileRef | undefined>[] = [];
  const storedIds: string[] = [];
  let refused: Refused | undefined;

  function refuse(stream: Readable, why: Refused): undefined {
    refused ??= why;
    // Reads and discards the rest, so that the browser receives the reply.
    stream.resume();
    return undefined;
  }

  async function storeFile(stream: Readable, given: { readonly name: string; readonly type: string }): Promise<FileRef | undefined> {
    const hash = createHash("sha256");
    const id = randomUUID();
    const name = fileName(given.name);
    let size = 0;
    const chunks = stream.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
    async function next(): Promise<Buffer | undefined> {
      const { done, value } = await chunks.next();
      if (done === true) return undefined;
      size += value.length;
      if (size > wanted.bytesMax) throw new UploadRefused(problem("large", { name, size: formatBytes(wanted.bytesMax) }));
      hash.update(value);
      return value;
    }
    try {
      const head: Buffer[] = [];
      let seen = 0;
      for (let chunk = await next(); chunk; chunk = seen < HEAD_BYTES ? await next() : undefined) {
        head.push(chunk);
        seen += chunk.length;
      }
      // Browsers send an empty file without a name if no file was chosen.
      if (seen === 0 && given.name === "") return undefined;
      const type = await acceptedType(Buffer.concat(head).subarray(0, HEAD_BYTES), { name, type: given.type }, wanted.accept);
      if (type === undefined) throw new UploadRefused(problem("type", { name }));
      storedIds.push(id);
      await files.put(taskId, id, rest(head, next));
      return { id, name, type, size, sha256: hash.digest("hex") };
    } catch (error) {
      // An open iterator would keep the stream from flowing, and the request from ending.
      await chunks.return?.();
      if (error instanceof UploadRefused) return refuse(stream, error.refused);
      stream.resume();
      throw error;
    }
  }

  const parser = parserOf(headers, wanted);
  if (!parser) return UNREADABLE;
  // The first field of a name counts, as in the urlencoded form.
  parser.on("field", (name, value) => void (fields.has(name) || fields.set(name, value)));
  parser.on("file", (_field, stream, name, _encoding, type) => {
    open.add(stream);
    stream.on("error", () => undefined);
    if (refused) return void stream.resume();
    if (!hasToken(fields)) return refuse(stream, { type: "notice", name: "stale" });
    if (storing.length >= wanted.countMax) {
      return refuse(stream, problem(wanted.countMax === 1 ? "one" : "many", { count: wanted.countMax }));
    }
    const file = storeFile(stream, { name: name ?? "", type });
    file.catch(() => undefined);
    storing.push(file);
  });
  try {
    await pipeline(raw, parser);
  } catch (error) {
    // The body was cut off or is not a valid form: readers that wait for more of a file must fail.
    refused ??= UNREADABLE;
    for (const stream of open) stream.destroy(error as Error);
  }
  const settled = await Promise.allSettled(storing);
  const failure = settled.find((each) => each.status === "rejected");
  if (!refused && !failure) {
    const stored = settled.flatMap((each) => (each.status === "fulfilled" && each.value ? [each.value] : []));
    return { type: "stored", files: stored, fields };
  }
  await removeStored();
  if (refused) return refused;
  throw failure?.reason;

  async function removeStored(): Promise<void> {
    await Promise.all(storedIds.map((id) => files.remove(taskId, id)));
  }
}

async function* rest(head: readonly Buffer[], next: () => Promise<Buffer | undefined>): AsyncGenerator<Buffer> {
  yield* head;
  for (let chunk = await next(); chunk; chunk = await next()) yield chunk;
}

const UNREADABLE: Refused = { type: "notice", name: "unreadable" };

function parserOf(headers: FastifyRequest["headers"], { countMax }: FilesWanted): BusboyInstance | undefined {
  try {
    return new Busboy({
      headers: { ...headers, "content-type": headers["content-type"] ?? "" },
      limits: { fields: FIELDS_MAX, fieldSize: FIELD_BYTES, fieldNameSize: 100, headerPairs: 20, parts: FIELDS_MAX + countMax + 1 },
    });
  } catch {
    // The Content-Type has no boundary.
    return undefined;
  }
}

function problem(what: keyof Texts["files"]["refused"], parts: Readonly<Record<string, string | number>>): Refused {
  return { type: "problem", what, parts };
}

/** `10 MB`, for people; exact below a kilobyte. */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(bytes) / 10)));
  const value = bytes / 1_024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`;
}
