/**
 * The stream that a client opens with GET. It reports changed lists and resources, and the status and asks of the tasks that the session
 * created.
 *
 * A client that polls tasks/get and calls tasks/result only at the end receives questions nowhere else. A session has one such stream: if a
 * second one opens, it takes over and the first one ends.
 *
 * Source: specification 2025-11-25, basic/transports "Listening for Messages from the Server", basic/utilities/tasks.
 */
import { type Announcement, isFinished, noteShown, type Task } from "@parley/core";
import { elicitationId } from "@parley/protocol/sessions";
import type { Outlet } from "../../../streams/outlet.ts";
import { type EndSignals, untilExpiry } from "../../../front-end/until-expiry.ts";
import { enterStream } from "../../../front-end/gate.ts";
import { type ChangeReporter, Changes } from "../shared/changes.ts";
import { reportDefect } from "../shared/defects.ts";
import { asksToSend, noteSent } from "./asks.ts";
import type { StandaloneCursor } from "./event-ids.ts";
import { holdStream, STANDALONE, type StreamHold } from "./hold-stream.ts";
import type { SessionContext, SessionRoute } from "./session-route.ts";
import { type ShownAsks, shownAsks } from "./shown-asks.ts";
import { shortName } from "./short-name.ts";

/** How long the response that names a task may arrive after the first event about that task would. */
const OVERTAKING_MS = 50;

/** `session`: the session follows something else, or the stream has to end. */
type Change = "session" | FollowedTask | Announcement;

interface FollowedTask {
  readonly type: "task";
  readonly taskId: string;
  unwatch?: () => void;
  /** Whether the client has had time to learn of the task. */
  isKnown: boolean;
  /** The last reported state, as far as clients can tell states apart. Undefined before the first report. */
  reported: string | undefined;
  /** Marks of the open asks that are on this stream. */
  sent: ReadonlySet<string>;
  readonly shown: ShownAsks;
}

/**
 * Reports until the client disconnects, its token expires, another stream takes over, or this front end closes. In the last case, and if
 * reporting fails, the client comes back to another front end. Throws OVERLOADED, UNAVAILABLE.
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

class StandaloneStream implements ChangeReporter<Change> {
  readonly #route: SessionRoute;
  readonly #context: SessionContext;
  readonly #outlet: Outlet;
  /** Number of the last event that the client has read; 0 for a new stream. */
  readonly #after: number;
  readonly #changes: Changes<Change>;
  readonly #ends: EndSignals;
  readonly #tasks = new Map<string, FollowedTask>();
  /** By their names in the session: the last announcement of each, once there was one. */
  #resources: Map<string, Announcement | undefined> = new Map();
  #event = 0;
  #hold: StreamHold | undefined;

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
    const refresh = () => this.#changes.add("session");
    const hold = await holdStream(this.#route, { sessionId: session.id, stream: STANDALONE, after: this.#after, onChange: refresh });
    this.#hold = hold;
    // Event numbers must grow from one holder of the stream to the next. One holder may not know the other's last number, so they follow
    // the clock.
    this.#event = Math.max(this.#after, services.clock.now());
    this.#ends.closing.addEventListener("abort", refresh);
    // Looks at all tasks again: an ask that another stream had claimed may be free by now.
    const stopBeat = heartbeat.onBeat(() => this.#tasks.forEach((task) => this.#changes.add(task)));
    const stopReceiving = announcements.onAnnouncement((announcement) => this.#receive(announcement));
    this.#outlet.onClose(() => {
      this.#changes.stop();
      this.#ends.closing.removeEventListener("abort", refresh);
      stopBeat();
      stopReceiving();
      for (const task of this.#tasks.values()) this.#leave(task);
      void hold.drop();
    });
    if (this.#changes.stopped) return;
    const first = this.#eventId();
    if (dialect.closesEarly && first !== undefined) this.#outlet.prime(first, times.retryMs);
    else this.#outlet.open();
    refresh();
  }

  #receive(announcement: Announcement): void {
    if (announcement.type !== "resource") return this.#changes.add(LISTS[announcement.type]);
    if (this.#resources.size === 0) return;
    const { uri } = announcement;
    // Front ends before 2026-11-26 noted long uris as they are.
    const name = [uri, shortName(this.#route.services, uri)].find((each) => this.#resources.has(each));
    if (name === undefined) return;
    // One object per resource, so that adding a change twice has the effect of adding it once.
    const followed = this.#resources.get(name) ?? announcement;
    this.#resources.set(name, followed);
    this.#changes.add(followed);
  }

  taskOf(change: Change): string | undefined {
    return change !== "session" && change.type === "task" && change.isKnown ? change.taskId : undefined;
  }

  async report(change: Change, task: Task | undefined): Promise<void> {
    const { encode } = this.#context;
    if (this.#hold?.lost || this.#ends.closing.aborted) this.#end();
    else if (change === "session") await this.#refresh();
    else if (change.type === "task") await this.#reportTask(change, task);
    else this.#outlet.send(encode.changed(change), this.#eventId());
  }

  drained(): Promise<void> {
    return this.#outlet.drained();
  }

  failed(error: unknown): void {
    reportDefect(this.#route, error);
    this.#outlet.abandon();
  }

  /**
   * The client is asked to come back to another front end, unless its stream was taken over. Then it is already elsewhere, or it shares its
   * session with another client, and the two would take the stream from each other for ever.
   */
  #end(): void {
    const { times, eventIds } = this.#route;
    this.#changes.stop();
    if (!this.#hold?.lost) return this.#outlet.endUnanswered(times.retryMs);
    const last = eventIds.write(this.#context.session.id, { stream: "ended", event: this.#event + 1 });
    if (last !== undefined) this.#outlet.prime(last, times.retryMs);
    this.#outlet.endUnanswered();
  }

  /** Follows the tasks and resources that the session now follows. */
  async #refresh(): Promise<void> {
    const { sessions } = this.#route;
    const { session } = this.#context;
    const interests = await sessions.interests(session.id);
    this.#resources = new Map(interests.resources.map((name) => [name, this.#resources.get(name)]));
    const added = interests.taskIds.filter((taskId) => !this.#tasks.has(taskId)).map((taskId) => this.#followed(taskId));
    await Promise.all(added.map((task) => this.#follow(task)));
  }

  #followed(taskId: string): FollowedTask {
    return {
      type: "task",
      taskId,
      isKnown: false,
      reported: undefined,
      sent: new Set(this.#hold?.sentBefore(taskId)),
      shown: shownAsks(this.#route, this.#context.session.id, taskId),
    };
  }

  async #follow(task: FollowedTask): Promise<void> {
    const { services, times } = this.#route;
    this.#tasks.set(task.taskId, task);
    try {
      task.unwatch = await services.wakeUps.watch(task.taskId, (change) => {
        if (!change?.news) this.#changes.add(task);
        else if (change.news.type === "replied") task.shown.replied(change.news.requestId);
      });
    } catch (error) {
      this.#leave(task);
      throw error;
    }
    // In the meantime the client may have disconnected, or another watch may have failed.
    if (this.#changes.stopped) return this.#leave(task);
    // An ask that overtakes the response to tools/call concerns a task that the client does not know yet. Clients decline such an ask, and
    // the tool would mistake that for the person's answer.
    void services.clock.sleep(times.taskGraceMs + OVERTAKING_MS).then(() => this.#startReporting(task));
  }

  #leave(task: FollowedTask): void {
    task.unwatch?.();
    task.shown.leave();
    this.#tasks.delete(task.taskId);
  }

  #startReporting(task: FollowedTask): void {
    task.isKnown = true;
    this.#changes.add(task);
  }

  async #reportTask(followed: FollowedTask, task: Task | undefined): Promise<void> {
    if (!followed.isKnown) return;
    const { encode, session } = this.#context;
    for (const requestId of followed.shown.over(task)) this.#outlet.send(encode.askOver(requestId, followed.taskId), this.#eventId());
    if (task) {
      const state = JSON.stringify([task.status, task.message, task.asks.map(({ key }) => key)]);
      // A task that is working when it is first read is in the state that the client received with the task.
      const differs = followed.reported === undefined ? task.status !== "working" : followed.reported !== state;
      if (differs && encode.tasks) {
        this.#outlet.send(encode.tasks.taskStatus(task, session.capabilities), this.#eventId());
        noteSent(this.#route, this.#context, { task, most: 1 });
      }
      followed.reported = state;
      await this.#ask(followed, task);
    }
    // A finished task never changes again (I1), and a deleted task never comes back.
    if (!task || isFinished(task.status)) {
      this.#leave(followed);
      await this.#route.sessions.unfollow(session.id, [followed.taskId]);
    }
  }

  async #ask(followed: FollowedTask, task: Task): Promise<void> {
    const { session, dialect, encode } = this.#context;
    const asks = asksToSend(this.#route, session.id, task);
    const sent = new Set(asks.map(({ mark }) => mark).filter((mark) => followed.sent.has(mark)));
    followed.sent = sent;
    for (const { ask, requestId, mark } of asks) {
      // On an earlier connection of this stream, or now.
      if (sent.has(mark)) followed.shown.sent(ask);
      if (sent.has(mark) || !dialect.canAsk(ask.request, session.capabilities)) continue;
      const claimed = await this.#hold?.claim({ taskId: task.id, ask, event: this.#event + 1 });
      // The client has left. A question that is not sent must not be recorded as shown.
      if (this.#changes.stopped) return;
      // Put, and not known to be: the reply to the claim was lost, or a failover of Redis has lost the answer and the question is open again.
      if (claimed !== "claimed" && claimed !== "put") continue;
      sent.add(mark);
      followed.shown.sent(ask);
      const asked = encode.ask(ask, { requestId, elicitationId: elicitationId(task.id, ask.key), taskId: task.id });
      this.#outlet.send(asked, this.#eventId());
      noteShown(this.#route.services, this.#context, task, [ask]);
    }
  }

  #eventId(): string | undefined {
    this.#event += 1;
    return this.#route.eventIds.write(this.#context.session.id, { stream: STANDALONE, event: this.#event });
  }
}

/** One object per list, so that adding a change twice has the effect of adding it once. */
const LISTS = { tools: { type: "tools" }, prompts: { type: "prompts" }, resources: { type: "resources" } } as const;
