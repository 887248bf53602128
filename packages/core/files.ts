/** Files that people upload on pages for tools (docs/pages.md): where they are kept, and what a tool has of them. */

/** What a tool gets of an uploaded file, and hands to `ctx.openFile`. Plain data. */
export interface FileRef {
  readonly id: string;
  /** As the person's machine calls it, without folders and control characters. */
  readonly name: string;
  /** What its content shows that it is, else what was said of it. */
  readonly type: string;
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** What a page for files takes. */
export interface FilesWanted {
  /** MIME types (`image/png`, `image/*`) and endings (`.pdf`); empty: any. */
  readonly accept: readonly string[];
  /** Bytes of one file. */
  readonly bytesMax: number;
  readonly countMax: number;
}

/** Most files of one question. */
export const FILES_MAX = 20;

/** Keeps files by task and id. Everything of a task is removed together. */
export interface FileStore {
  /** Resolves when all of it is kept. Rejects with what `content` throws, and keeps nothing then. */
  put(taskId: string, id: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Rejects with FILE_GONE. */
  open(taskId: string, id: string): Promise<ReadableStream<Uint8Array>>;
  /** One file, or all of the task. What is not there is removed already. */
  remove(taskId: string, id?: string): Promise<void>;
  /** Tasks that have files, oldest or not, as far as nothing was kept for them for `idleMs`. Takes away what is left of uploads that never ended. */
  idle(idleMs: number): AsyncIterable<string>;
}
