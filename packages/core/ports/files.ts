/** Files that people upload on pages for tools (docs/pages.md): how they are stored, and what a tool receives. */

/** What a tool receives for an uploaded file and passes to `ctx.openFile`. Plain data. */
export interface FileRef {
  readonly id: string;
  /** The name on the person's machine, without folders and control characters. */
  readonly name: string;
  /** The type that the content shows, otherwise the declared one. */
  readonly type: string;
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Maximum number of files per question. */
export const FILES_MAX = 20;

/** Stores files by task and id. All files of a task are removed together. */
export interface FileStore {
  /** Resolves when the whole content is stored. Rejects with what `content` throws, and then stores nothing. */
  put(taskId: string, id: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Rejects with FILE_GONE. */
  open(taskId: string, id: string): Promise<ReadableStream<Uint8Array>>;
  /** Removes one file, or all files of the task. Resolves if there is nothing to remove. */
  remove(taskId: string, id?: string): Promise<void>;
  /**
   * Tasks that have files and for which nothing was stored for `idleMs`, in no particular order. Removes the remains
   * of unfinished uploads.
   */
  idle(idleMs: number): AsyncIterable<string>;
}
