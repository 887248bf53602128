/** The port that tells those who watch a task that it has changed. */
import type { AskedRequest } from "../callers/open-asks.ts";
import type { Task } from "../task.ts";
import type { Announcement } from "../task/announcement.ts";

/**
 * Wake-ups are hints. A listener watches, then reads, and reads again each time it is called. It is also called after
 * a lost connection has been restored.
 */
export interface WakeUps {
  /**
   * Resolves once no later change can be missed. Call the returned function to stop watching. `onChange` receives
   * what is known about the change, or nothing if changes may have been missed.
   */
  watch(taskId: string, onChange: (change?: TaskChange) => void): Promise<() => void>;
  /** Whether this process already receives the task's wake-ups, so that watching it costs no round trip. */
  isWatched(taskId: string): boolean;
  /** Tells those who watch the task something that is no change of it. */
  tell(taskId: string, news: StreamNews): Promise<void>;
  /**
   * Calls `onChange` when an ask that was put to one of these names, of this tenant, was opened or closed, when one of several people has
   * accepted it or something was said about it, and when such changes may have been missed. What else happens to its task wakes nobody. As the
   * index of open asks, it narrows and never grants.
   */
  watchAsked(asked: Pick<AskedRequest, "tenant" | "names">, onChange: () => void): Promise<() => void>;
  /** Wakes those who watch what is asked of one of these names, because what they list has changed and no ask has. */
  tellAsked(asked: Pick<AskedRequest, "tenant" | "names">): Promise<void>;
  /** Notifies every front end that a list has changed. */
  announce(announcement: Announcement): Promise<void>;
  onAnnouncement(listener: (announcement: Announcement) => void): Promise<() => void>;
}

/**
 * What the streams of one task tell each other.
 *
 *   replied    a client has replied to the request by which a stream asks it; the change that the reply makes says only that the ask is over
 *   resumed    a client has come back for the stream of its call, on the connection of that name
 *   cancelled  the client has cancelled the request that carries the task, and expects no response
 */
export type StreamNews =
  | { readonly type: "replied"; readonly requestId: string }
  | { readonly type: "resumed"; readonly connection: string }
  | { readonly type: "cancelled" };

/** What changed. Lets a listener skip a read that it does not need. */
export interface TaskChange {
  /** The task's revision after the change. */
  readonly revision: number;
  /** True if the task has ended. */
  readonly isEnd: boolean;
  /** Not a change of the task (`tell`). The revision is 0. */
  readonly news?: StreamNews;
  /**
   * Returns the task after this change, given the task as a store loaded it right before, except for `calls`, which
   * change without a revision. Absent, or undefined: the task has to be read.
   */
  readonly apply?: (task: Task) => Task | undefined;
}
