/**
 * An open stream of subscriptions/listen: sends the state of the followed tasks whenever they change, and reports changed lists and
 * resources. It is an object with callbacks rather than a loop that waits, because a front end holds ten thousand of them.
 */
import { type Announcement, isFinished, type Task } from "@parley/core";
import { resultMessage } from "@parley/protocol";
import type { Filter } from "@parley/protocol/stateless";
import { untilExpiry } from "../../../front-end/until-expiry.ts";
import { answerFailure } from "../shared/answer.ts";
import { type ChangeReporter, Changes } from "../shared/changes.ts";
import { noteSent } from "./tasks.ts";
import type { StatelessExchange, StatelessRoute } from "./stateless-route.ts";

type Followed = FollowedTask | Announcement;

interface FollowedTask {
  readonly type: "task";
  readonly taskId: string;
  /** The revision that was sent last. */
  revision: number;
  unwatch?: () => void;
}

/** Follows what was agreed until the client disconnects, its token expires, or this front end closes. */
export async function openListenStream(route: StatelessRoute, exchange: StatelessExchange, agreed: Filter): Promise<void> {
  const stream = new ListenStream(route, exchange, agreed);
  await stream.open(agreed);
}

class ListenStream implements ChangeReporter<Followed> {
  readonly #route: StatelessRoute;
  readonly #exchange: StatelessExchange;
  /** Tasks that may still change. */
  readonly #tasks = new Set<FollowedTask>();
  /** The lists and resources that are followed. */
  readonly #announced: readonly Announcement[];
  readonly #changes: Changes<Followed>;

  constructor(route: StatelessRoute, exchange: StatelessExchange, agreed: Filter) {
    this.#route = route;
    this.#exchange = exchange;
    this.#changes = new Changes(route.services, exchange.caller, this);
    this.#announced = [
      ...(agreed.toolsListChanged ? [{ type: "tools" } as const] : []),
      ...(agreed.promptsListChanged ? [{ type: "prompts" } as const] : []),
      ...(agreed.resourcesListChanged ? [{ type: "resources" } as const] : []),
      ...agreed.resourceSubscriptions.map((uri) => ({ type: "resource", uri }) as const),
    ];
  }

  async open({ taskIds }: Filter): Promise<void> {
    const { announcements } = this.#route;
    const { closing, release } = untilExpiry(this.#route, this.#exchange.caller);
    const end = () => this.#end();
    closing.addEventListener("abort", end);
    const unfollow = this.#announced.length > 0 ? announcements.onAnnouncement((each) => this.#receive(each)) : undefined;
    this.#exchange.channel.onClose(() => {
      this.#changes.stop();
      closing.removeEventListener("abort", end);
      release();
      unfollow?.();
      for (const task of this.#tasks) this.#leave(task);
    });
    await Promise.all(taskIds.map((taskId) => this.#follow(taskId)));
    if (closing.aborted) this.#end();
  }

  async #follow(taskId: string): Promise<void> {
    const task: FollowedTask = { type: "task", taskId, revision: 0 };
    this.#tasks.add(task);
    task.unwatch = await this.#route.services.wakeUps.watch(taskId, (change) => {
      if (!change?.news) this.#changes.add(task);
    });
    if (this.#changes.stopped) this.#leave(task);
    // Reports what changed before the watch began.
    else this.#changes.add(task);
  }

  #leave(task: FollowedTask): void {
    task.unwatch?.();
    this.#tasks.delete(task);
  }

  #receive(announcement: Announcement): void {
    const followed = this.#announced.find((each) => isSame(each, announcement));
    if (followed) this.#changes.add(followed);
  }

  taskOf(followed: Followed): string | undefined {
    return followed.type === "task" ? followed.taskId : undefined;
  }

  report(followed: Followed, task: Task | undefined): void {
    if (followed.type === "task") this.#reportTask(followed, task);
    else this.#reportAnnounced(followed);
  }

  drained(): Promise<void> {
    return this.#exchange.channel.drained();
  }

  failed(error: unknown): void {
    this.#changes.stop();
    answerFailure(this.#route, this.#exchange, { error });
  }

  #reportTask(followed: FollowedTask, task: Task | undefined): void {
    // An earlier revision is reported too: a failover of Redis may lose its newest writes, and the state that the client knows is then
    // wrong.
    if (task && task.revision !== followed.revision) {
      followed.revision = task.revision;
      const { id, client, encode, channel } = this.#exchange;
      channel.send(encode.taskNotification(task, { subscriptionId: id, capabilities: client.capabilities }));
      noteSent(this.#route.services, this.#exchange, task);
    }
    // A finished task never changes again (I1), and a deleted task never comes back.
    if (!task || isFinished(task.status)) this.#leave(followed);
  }

  #reportAnnounced(announced: Announcement): void {
    const { id, encode, channel } = this.#exchange;
    channel.send(encode.changed(announced, id));
  }

  /** Ends the stream with its result. */
  #end(): void {
    if (this.#changes.stopped) return;
    this.#changes.stop();
    const { id, encode, channel } = this.#exchange;
    channel.answer({ httpStatus: 200, message: resultMessage(id, encode.listenEnd(id)) });
  }
}

function isSame(one: Announcement, other: Announcement): boolean {
  return one.type === "resource" ? other.type === "resource" && one.uri === other.uri : one.type === other.type;
}
