/** Messages between the processes of a deployment. They are not stored: one that no process receives is lost. packages/redis implements it. */
export interface Post {
  /** The id of this process. */
  readonly id: string;
  /** Resolves to false if the process certainly did not receive it. */
  post(box: Box, process: string, text: string): Promise<boolean>;
  onPost(box: Box, listener: (text: string) => void): Promise<() => void>;
}

/**
 * - `run`: a run, to the holder of its task's call (gateway.ts).
 * - `read`: the reply to a read (reads.ts).
 * - `call`, `reply`: a call without a task, and the reply to it (taskless.ts).
 */
export type Box = "run" | "read" | "call" | "reply";
