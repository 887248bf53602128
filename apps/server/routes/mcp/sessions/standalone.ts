/**
 * The stream that a client opens by GET: what concerns no request of its own. Lists and resources that changed, and of the tasks that were
 * created in the session what became of them and what they ask.
 *
 * A client that polls tasks/get until the end and calls tasks/result only then learns of questions nowhere else. A session has one such
 * stream: a second one takes over, the first one ends.
 *
 * Source: specification 2025-11-25, basic/transports "Listening for Messages from the Server", basic/utilities/tasks.
 */
import { type Announcement, isFinished, noteShown, type Task } from "@parley/core";
import { elicitationId } from "@parley/protocol/sessions";
import type { Outlet } from "../../../streams/outlet.ts";
import { type EndSignals, untilExpiry } from "../../../front-end/until-expiry.ts";
import { enterStream } from "../../../front-end/gate.ts";
import { Changes, type TellChanges } from "../shared/changes.ts";
import { reportDefect } from "../shared/defects.ts";
import { toPut } from "./asks.ts";
import type { StandaloneCursor } from "./event-ids.ts";
import { holdStream, type Held } from "./hold-stream.ts";
import type { SessionContext, SessionRoute } from "./session-route.ts";

const STREAM = "standalone";
/** How much longer the answer that names a task may take to a client than what this stream says of the task. */
const OVERTAKING_MS = 50;

/** `session`: what it follows is another, or the stream is over. */
type Change = "session" | FollowedTask | Announcement;

interface FollowedTask {
  readonly type: "task";
  readonly taskId: string;
  unwatch?: () => void;
  /** Whether the client knows the task by now. */
  named: boolean;
  /** What was told last, as far as it makes a difference to a client; undefined before the first look. */
  told: string | undefined;
  /** The open asks that are on this stream, as marks. */
  put: ReadonlySet<string>;
}

/**
 * Tells until the client is gone, its token has expired, another stream has taken over, or this front end closes: then the client comes back to another. So it does
 * when telling fails. Throws OVERLOADED, UNAVAILABLE.
 */
export async function openStandalone(
  route: SessionRoute,
  context: SessionContext,
  outlet: Outlet,
  resumed: StandaloneCursor | undefined,
): Promise<void> {
  outlet.onClose(enterStream(route, context.caller));
  await new StandaloneStream(route, context, outlet, resumed).open();
}

class StandaloneStream implements TellChanges<Change> {
  readonly #route: SessionRoute;
  readonly #context: SessionContext;
  readonly #outlet: Outlet;
  /** The number of the last event that its client has read; 0 for a new one. */
  readonly #after: number;
  readonly #changes: Changes<Change>;
  readonly #ends: EndSignals;
  readonly #tasks = new Map<string, FollowedTask>();
  #resources = new Map<string, Announcement>();
  #event = 0;
  #held: Held | undefined;

  constructor(route: SessionRoute, context: SessionContext, outlet: Outlet, resumed: StandaloneCursor | undefined) {
    this.#route = route;
    this.#context = context;
    this.#outlet = outlet;
    this.#after = resumed?.event ?? 0;
    this.#changes = new Changes(route.services, context.caller, this);
    this.#ends = untilExpiry(route, context.caller);
    outlet.onClose(this.#ends.release);
  }

  async open(): Promise<void> {
    const { services, heartbeat, announcements, times } = this.#route;
    const { session, dialect } = this.#context;
    const lookAgain = () => this.#changes.add("session");
    const held = await holdStream(this.#route, { sessionId: session.id, stream: STREAM, after: this.#after, onChange: lookAgain });
    this.#held = held;
    // Numbers of questions grow from one holder of the stream to the next: by the time, since one may not know how far the other came.
    this.#event = Math.max(this.#after, services.clock.now());
    this.#ends.closing.addEventListener("abort", lookAgain);
    // A question that another stream had may be ours by now.
    const stopBeat = heartbeat.onBeat(() => this.#tasks.forEach((task) => this.#changes.add(task)));
    const stopHearing = announcements.onAnnouncement((announcement) => this.#hear(announcement));
    this.#outlet.onClose(() => {
      this.#changes.stop();
      this.#ends.closing.removeEventListener("abort", lookAgain);
      stopBeat();
      stopHearing();
      for (const task of this.#tasks.values()) this.#leave(task);
      void held.drop();
    });
    if (this.#changes.stopped) return;
    const first = this.#eventId();
    if (dialect.closesEarly && first !== undefined) this.#outlet.prime(first, times.retryMs);
    else this.#outlet.open();
    lookAgain();
  }

  #hear(announcement: Announcement): void {
    if (announcement.type !== "resource") return this.#changes.add(LISTS[announcement.type]);
    const followed = this.#resources.get(announcement.uri);
    if (followed) this.#changes.add(followed);
  }

  taskOf(change: Change): string | undefined {
    return change !== "session" && change.type === "task" && change.named ? change.taskId : undefined;
  }

  async tell(change: Change, task: Task | undefined): Promise<void> {
    const { encode } = this.#context;
    if (this.#held?.lost || this.#ends.closing.aborted) this.#end();
    else if (change === "session") await this.#refresh();
    else if (change.type === "task") await this.#tellTask(change, task);
    else this.#outlet.send(encode.changed(change), this.#eventId());
  }

  drained(): Promise<void> {
    return this.#outlet.drained();
  }

  failed(error: unknown): void {
    reportDefect(this.#route, error);
    this.#outlet.abandon();
  }

  /** A client whose stream was taken over is elsewhere already; one whose front end closes comes back to another. */
  #end(): void {
    this.#changes.stop();
    this.#outlet.letGo(this.#held?.lost ? undefined : this.#route.times.retryMs);
  }

  /** Follows what the session follows now. */
  async #refresh(): Promise<void> {
    const { sessions, services, times } = this.#route;
    const { session } = this.#context;
    const interests = await sessions.interests(session.id);
    this.#resources = new Map(interests.resources.map((uri) => [uri, { type: "resource", uri }]));
    const added = interests.taskIds.filter((taskId) => !this.#tasks.has(taskId)).map((taskId) => this.#followed(taskId));
    await Promise.all(added.map((task) => this.#follow(task)));
    // A question that overtakes the answer to tools/call is about nothing that the client knows. Clients refuse such a question, and the tool
    // would take it for the person's word.
    if (added.length > 0) void services.clock.sleep(times.taskGraceMs + OVERTAKING_MS).then(() => added.forEach(this.#tellFromNowOn));
  }

  #followed(taskId: string): FollowedTask {
    return { type: "task", taskId, named: false, told: undefined, put: new Set(this.#held?.putBefore(taskId)) };
  }

  async #follow(task: FollowedTask): Promise<void> {
    this.#tasks.set(task.taskId, task);
    task.unwatch = await this.#route.services.wakeUps.watch(task.taskId, () => this.#changes.add(task));
    // The client left, or another watch failed, meanwhile.
    if (this.#changes.stopped) this.#leave(task);
  }

  #leave(task: FollowedTask): void {
    task.unwatch?.();
    this.#tasks.delete(task.taskId);
  }

  readonly #tellFromNowOn = (task: FollowedTask): void => {
    task.named = true;
    this.#changes.add(task);
  };

  async #tellTask(followed: FollowedTask, task: Task | undefined): Promise<void> {
    if (!followed.named) return;
    const { encode, session } = this.#context;
    if (task) {
      const state = JSON.stringify([task.status, task.message, task.asks.map(({ key }) => key)]);
      // A task that is at work when it is first seen is as the client got it.
      const differs = followed.told === undefined ? task.status !== "working" : followed.told !== state;
      if (differs && encode.tasks) this.#outlet.send(encode.tasks.taskStatus(task), this.#eventId());
      followed.told = state;
      await this.#putAsks(followed, task);
    }
    // A finished task never changes again (I1); one that is gone never comes back.
    if (!task || isFinished(task.status)) {
      this.#leave(followed);
      await this.#route.sessions.unfollow(session.id, [followed.taskId]);
    }
  }

  async #putAsks(followed: FollowedTask, task: Task): Promise<void> {
    const { session, dialect, encode } = this.#context;
    const asks = toPut(this.#route, session.id, task);
    const put = new Set(asks.map(({ mark }) => mark).filter((mark) => followed.put.has(mark)));
    followed.put = put;
    for (const { ask, requestId, mark } of asks) {
      if (put.has(mark) || !dialect.canAsk(ask.request, session.capabilities)) continue;
      const claimed = await this.#held?.claim({ taskId: task.id, ask, event: this.#event + 1 });
      if (claimed === "claimed" || claimed === "put") put.add(mark);
      if (claimed !== "claimed") continue;
      const asked = encode.ask(ask, { requestId, elicitationId: elicitationId(task.id, ask.key), taskId: task.id });
      this.#outlet.send(asked, this.#eventId());
      noteShown(this.#route.services, this.#context, task, [ask]);
    }
  }

  #eventId(): string | undefined {
    this.#event += 1;
    return this.#route.eventIds.write(this.#context.session.id, { stream: STREAM, event: this.#event });
  }
}

/** One object for each kind, so that adding it twice is adding it once. */
const LISTS = { tools: { type: "tools" }, prompts: { type: "prompts" }, resources: { type: "resources" } } as const;
