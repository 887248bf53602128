/**
 * Takes files as they come, a chunk at a time: nothing is held but the chunk and the first 4 kB, by which a file's type is seen. Files are kept under
 * the task from the start; when anything goes wrong, nothing of the upload is left.
 */
import { createHash, randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import type { FileRef, FilesWanted, FileStore } from "@parley/core";
import { acceptedType, fileName, HEAD_BYTES } from "@parley/files";
import type { FastifyRequest } from "fastify";
import type { NoticeName } from "./views.ts";

export interface Upload {
  readonly taskId: string;
  readonly wanted: FilesWanted;
  readonly files: FileStore;
  /** Asked before the first file is kept. */
  readonly isOurs: (fields: ReadonlyMap<string, string>) => boolean;
}

export type Uploaded =
  | { readonly type: "kept"; readonly files: readonly FileRef[]; readonly fields: ReadonlyMap<string, string> }
  /** For the person: a sentence beside the form. */
  | { readonly type: "problem"; readonly sentence: string }
  | { readonly type: "notice"; readonly name: NoticeName };

type Refused = Exclude<Uploaded, { type: "kept" }>;

/** Thrown by what reads a file. */
class Stop extends Error {
  readonly refused: Refused;
  constructor(refused: Refused) {
    super("the upload is refused");
    this.refused = refused;
  }
}

const FIELD_BYTES = 200;
const FIELDS_MAX = 10;

export async function takeUpload({ raw, headers }: FastifyRequest, upload: Upload): Promise<Uploaded> {
  const { taskId, wanted, files, isOurs } = upload;
  const fields = new Map<string, string>();
  const open = new Set<Readable>();
  const keeping: Promise<FileRef | undefined>[] = [];
  const kept: string[] = [];
  let refused: Refused | undefined;

  function refuse(stream: Readable, why: Refused): undefined {
    refused ??= why;
    // What is still to come is read and thrown away, so that the browser hears what was wrong.
    stream.resume();
    return undefined;
  }

  async function keep(stream: Readable, given: { readonly name: string; readonly type: string }): Promise<FileRef | undefined> {
    const hash = createHash("sha256");
    const id = randomUUID();
    const name = fileName(given.name);
    let size = 0;
    const chunks = stream.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
    async function next(): Promise<Buffer | undefined> {
      const { done, value } = await chunks.next();
      if (done === true) return undefined;
      size += value.length;
      if (size > wanted.bytesMax) throw new Stop(problem(`${name} is larger than ${shownBytes(wanted.bytesMax)}.`));
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
      // What a browser sends where nothing was chosen.
      if (seen === 0 && given.name === "") return undefined;
      const type = await acceptedType(Buffer.concat(head).subarray(0, HEAD_BYTES), { name, type: given.type }, wanted.accept);
      if (type === undefined) throw new Stop(problem(`${name} does not have an accepted type.`));
      kept.push(id);
      await files.put(taskId, id, rest(head, next));
      return { id, name, type, size, sha256: hash.digest("hex") };
    } catch (error) {
      // An iterator that is left open keeps its stream from flowing, and the request from its end.
      await chunks.return?.();
      if (error instanceof Stop) return refuse(stream, error.refused);
      stream.resume();
      throw error;
    }
  }

  const parser = parserOf(headers, wanted);
  if (!parser) return UNREADABLE;
  // The first of a name counts, as in the other form.
  parser.on("field", (name, value) => void (fields.has(name) || fields.set(name, value)));
  parser.on("file", (_field, stream, name, _encoding, type) => {
    open.add(stream);
    stream.on("error", () => undefined);
    if (refused) return void stream.resume();
    if (!isOurs(fields)) return refuse(stream, { type: "notice", name: "stale" });
    if (keeping.length >= wanted.countMax) {
      return refuse(stream, problem(`At most ${wanted.countMax} ${wanted.countMax === 1 ? "file is" : "files are"} asked for.`));
    }
    const file = keep(stream, { name: name ?? "", type });
    file.catch(() => undefined);
    keeping.push(file);
  });
  try {
    await pipeline(raw, parser);
  } catch (error) {
    // It was cut, or is no such form: those who wait for more of a file are told so.
    refused ??= UNREADABLE;
    for (const stream of open) stream.destroy(error as Error);
  }
  const settled = await Promise.allSettled(keeping);
  const failure = settled.find((each) => each.status === "rejected");
  if (!refused && !failure) {
    const taken = settled.flatMap((each) => (each.status === "fulfilled" && each.value ? [each.value] : []));
    return { type: "kept", files: taken, fields };
  }
  await forget();
  if (refused) return refused;
  throw failure?.reason;

  async function forget(): Promise<void> {
    await Promise.all(kept.map((id) => files.remove(taskId, id)));
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
    // It names no boundary.
    return undefined;
  }
}

function problem(sentence: string): Refused {
  return { type: "problem", sentence };
}

/** `10 MB`, as people read it; exact below a kilobyte. */
export function shownBytes(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(bytes) / 10)));
  const value = bytes / 1_024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`;
}
