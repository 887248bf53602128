/**
 * An open stream of subscriptions/listen. Front ends hold ten thousand of them, most of the time in silence, so nothing of one waits: it is an
 * object that is told what has changed, and what runs, runs while there is something to say.
 *
 *   wake-up ─▶ mark ─▶ tell: read, send, at the reader's pace ─▶ silence
 *
 * A task that changes ten times while the reader takes one message is read once: what waits in memory is at most one mark for each thing
 * that is followed.
 */
import { type Announcement, isFinished, type Task } from "@parley/core";
import { resultMessage } from "@parley/protocol";
import type { Filter } from "@parley/protocol/stateless";
import type { Outlet } from "../../../streams/outlet.ts";
import { answerFailure } from "./answer-failure.ts";
import type { Exchange, Mcp } from "./mcp.ts";

/** Things that are told at once. All that is read for them is held until the client has taken it, and a task may ask much. */
const TELL_TOGETHER = 8;

type Followed = FollowedTask | Announcement;

interface FollowedTask {
  readonly type: "task";
  readonly taskId: string;
  /** The revision that was sent last. */
  revision: number;
  unwatch?: () => void;
}

/** Follows what was agreed until the client leaves, or this front end closes. */
export async function openListenStream(mcp: Mcp, exchange: Exchange, agreed: Filter): Promise<void> {
  const stream = new ListenStream(mcp, exchange, agreed);
  await stream.open(agreed);
}

class ListenStream {
  readonly #mcp: Mcp;
  readonly #id: Exchange["id"];
  readonly #outlet: Outlet;
  /** Tasks that may change yet. */
  readonly #tasks = new Set<FollowedTask>();
  /** What else is followed. */
  readonly #announced: readonly Announcement[];
  readonly #changed = new Set<Followed>();
  #telling = false;
  #over = false;

  constructor(mcp: Mcp, { id, outlet }: Exchange, agreed: Filter) {
    this.#mcp = mcp;
    this.#id = id;
    this.#outlet = outlet;
    this.#announced = [
      ...(agreed.toolsListChanged ? [{ type: "tools" } as const] : []),
      ...(agreed.promptsListChanged ? [{ type: "prompts" } as const] : []),
      ...(agreed.resourcesListChanged ? [{ type: "resources" } as const] : []),
      ...agreed.resourceSubscriptions.map((uri) => ({ type: "resource", uri }) as const),
    ];
  }

  async open({ taskIds }: Filter): Promise<void> {
    const { announcements, lifecycle } = this.#mcp;
    const closing = () => this.#end();
    lifecycle.closing.addEventListener("abort", closing);
    const unfollow = this.#announced.length > 0 ? announcements.onAnnouncement((each) => this.#hear(each)) : undefined;
    this.#outlet.onClose(() => {
      this.#over = true;
      lifecycle.closing.removeEventListener("abort", closing);
      unfollow?.();
      for (const task of this.#tasks) this.#leave(task);
    });
    await Promise.all(taskIds.map((taskId) => this.#follow(taskId)));
    if (lifecycle.closing.aborted) this.#end();
  }

  async #follow(taskId: string): Promise<void> {
    const task: FollowedTask = { type: "task", taskId, revision: 0 };
    this.#tasks.add(task);
    task.unwatch = await this.#mcp.services.events.watch(taskId, () => this.#mark(task));
    if (this.#over) this.#leave(task);
    // What happened before its watch began is told too.
    else this.#mark(task);
  }

  #leave(task: FollowedTask): void {
    task.unwatch?.();
    this.#tasks.delete(task);
  }

  #hear(announcement: Announcement): void {
    const followed = this.#announced.find((each) => isSame(each, announcement));
    if (followed) this.#mark(followed);
  }

  #mark(followed: Followed): void {
    this.#changed.add(followed);
    if (this.#telling) return;
    this.#telling = true;
    void this.#tell();
  }

  async #tell(): Promise<void> {
    const { services } = this.#mcp;
    try {
      for (let changed = this.#take(); changed.length > 0; changed = this.#take()) {
        const tasks = await Promise.all(
          changed.map(async (each) => (each.type === "task" ? await services.store.load(each.taskId) : undefined)),
        );
        for (const [index, each] of changed.entries()) {
          if (each.type === "task") this.#tellTask(each, tasks[index]);
          else this.#tellAnnounced(each);
          await this.#outlet.drained();
        }
      }
    } catch (error) {
      this.#over = true;
      answerFailure(this.#mcp, this.#outlet, { id: this.#id, method: "subscriptions/listen", error });
    } finally {
      this.#telling = false;
    }
  }

  /** Takes marks out, in the order in which they were made. */
  #take(): readonly Followed[] {
    if (this.#over) return [];
    const taken = [...this.#changed].slice(0, TELL_TOGETHER);
    for (const each of taken) this.#changed.delete(each);
    return taken;
  }

  #tellTask(followed: FollowedTask, task: Task | undefined): void {
    if (task && task.revision > followed.revision) {
      followed.revision = task.revision;
      this.#outlet.send(this.#mcp.encode.taskNotification(task, { subscriptionId: this.#id }));
    }
    // A finished task never changes again (I1); one that is gone never comes back.
    if (!task || isFinished(task.status)) this.#leave(followed);
  }

  #tellAnnounced(announced: Announcement): void {
    const { encode } = this.#mcp;
    const { type } = announced;
    this.#outlet.send(type === "resource" ? encode.resourceUpdated(announced.uri, this.#id) : encode.listChanged(type, this.#id));
  }

  /** With its result, since this front end closes. */
  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#outlet.end({ httpStatus: 200, message: resultMessage(this.#id, this.#mcp.encode.listenEnd(this.#id)) });
  }
}

function isSame(one: Announcement, other: Announcement): boolean {
  return one.type === "resource" ? other.type === "resource" && one.uri === other.uri : one.type === other.type;
}
