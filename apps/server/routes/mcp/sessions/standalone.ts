/**
 * The stream that a client opens by GET: what concerns no request of its own. Lists and resources that changed, and of the tasks that were
 * created in the session what became of them and what they ask.
 *
 * A client that polls tasks/get until the end and calls tasks/result only then learns of questions nowhere else. A session has one such
 * stream: a second one takes over, the first one ends.
 *
 * Source: specification 2025-11-25, basic/transports "Listening for Messages from the Server", basic/utilities/tasks.
 */
import { isFinished, type Task } from "@parley/core";
import { elicitationId } from "@parley/protocol/sessions";
import type { Outlet } from "../../../streams/outlet.ts";
import { marks } from "./marks.ts";
import { toPut } from "./asks.ts";
import type { Door, Talk } from "./door.ts";
import type { StandaloneCursor } from "./event-ids.ts";
import { holdStream, type Held } from "./hold-stream.ts";

/** Tasks that are read at once. All of them are held until the client has taken what is told, and a task may ask much. */
const READ_TOGETHER = 8;
const STREAM = "standalone";
/** How much longer the answer that names a task may take to a client than what this stream says of the task. */
const OVERTAKING_MS = 50;

interface FollowedTask {
  readonly unwatch: () => void;
  /** Whether the client knows the task by now. */
  named: boolean;
  /** What was told last, as far as it makes a difference to a client; undefined before the first look. */
  told: string | undefined;
  /** The open asks that are on this stream, as marks. */
  put: ReadonlySet<string>;
}

/** Ends when the client is gone, another stream took over, or this front end closes; never by an error of a task. Throws OVERLOADED. */
export async function standalone(door: Door, talk: Talk, outlet: Outlet, resumed: StandaloneCursor | undefined): Promise<void> {
  const { services, sessions, lifecycle, announcements, times, heartbeat } = door;
  const { session, dialect, encode } = talk;
  const leave = door.listens.enter();
  const changed = marks();
  const followed = new Map<string, FollowedTask>();
  const after = resumed?.event ?? 0;
  let resources: ReadonlySet<string> = new Set();
  // Numbers of questions grow from one holder of the stream to the next: by the time, since one may not know how far the other came.
  let event = Math.max(after, services.clock.now());
  let sessionChanged = true;
  let held: Held | undefined;
  const stops: (() => unknown)[] = [leave, () => followed.forEach(({ unwatch }) => unwatch())];

  const eventId = () => door.eventIds.write(session.id, { stream: STREAM, event: (event += 1) });
  const over = () => outlet.closed.aborted || lifecycle.closing.aborted;

  try {
    held = await holdStream(door, {
      sessionId: session.id,
      stream: STREAM,
      after,
      onChange() {
        sessionChanged = true;
        changed.wake();
      },
    });
    stops.push(() => held?.drop());
    outlet.closed.addEventListener("abort", changed.wake);
    lifecycle.closing.addEventListener("abort", changed.wake);
    stops.push(() => lifecycle.closing.removeEventListener("abort", changed.wake));
    // A question that another stream had may be ours by now.
    stops.push(heartbeat.onBeat(() => followed.forEach((_, taskId) => changed.tasks.mark(taskId))));
    stops.push(
      announcements.onAnnouncement((announcement) => {
        if (announcement.type !== "resource") changed.lists.mark(announcement.type);
        else if (resources.has(announcement.uri)) changed.resources.mark(announcement.uri);
      }),
    );
    const first = eventId();
    if (dialect.closesEarly && first !== undefined) outlet.prime(first, times.retryMs);
    else outlet.open();

    while (!over()) {
      if (sessionChanged) {
        sessionChanged = false;
        if (held.lost) break;
        await refresh();
      }
      for (const kind of changed.lists.take()) outlet.send(encode.listChanged(kind), eventId());
      for (const uri of changed.resources.take()) outlet.send(encode.resourceUpdated(uri), eventId());
      const taskIds = changed.tasks.take(READ_TOGETHER);
      const tasks = await Promise.all(taskIds.map((taskId) => services.store.load(taskId)));
      for (const [index, taskId] of taskIds.entries()) await tellTask(taskId, tasks[index]);
      await outlet.drained();
      if (!over()) await changed.next();
    }
    // Whoever took over has the client; one whose front end closes comes back to another.
    if (!outlet.closed.aborted) outlet.letGo(held?.lost ? undefined : times.retryMs);
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }

  async function refresh(): Promise<void> {
    const interests = await sessions.interests(session.id);
    resources = new Set(interests.resources);
    const added = interests.taskIds.filter((taskId) => !followed.has(taskId));
    const watches = await Promise.allSettled(
      added.map(async (taskId) => {
        const unwatch = await services.events.watch(taskId, () => changed.tasks.mark(taskId));
        followed.set(taskId, { unwatch, named: false, told: undefined, put: new Set(held?.putBefore(taskId)) });
      }),
    );
    // Not before all have settled: a watch that begins later would outlive the stream.
    for (const watch of watches) if (watch.status === "rejected") throw watch.reason;
    // A question that overtakes the answer to tools/call is about nothing that the client knows. Clients refuse such a question, and the tool
    // would take it for the person's word.
    if (added.length > 0) void services.clock.sleep(times.taskGraceMs + OVERTAKING_MS).then(() => added.forEach(tellFromNowOn));
  }

  function tellFromNowOn(taskId: string): void {
    const known = followed.get(taskId);
    if (!known) return;
    known.named = true;
    changed.tasks.mark(taskId);
  }

  async function tellTask(taskId: string, task: Task | undefined): Promise<void> {
    const known = followed.get(taskId);
    if (!known?.named) return;
    if (task) {
      const state = JSON.stringify([task.status, task.message, task.asks.map(({ key }) => key)]);
      // A task that is at work when it is first seen is as the client got it.
      if (known.told === undefined ? task.status !== "working" : known.told !== state) {
        outlet.send(encode.taskStatus(task), eventId());
      }
      known.told = state;
      await putAsks(task, known);
      await outlet.drained();
    }
    // A finished task never changes again (I1); one that is gone never comes back.
    if (!task || isFinished(task.status)) {
      known.unwatch();
      followed.delete(taskId);
      await sessions.unfollow(session.id, [taskId]);
    }
  }

  async function putAsks(task: Task, known: FollowedTask): Promise<void> {
    const asks = toPut(door, session.id, task);
    const put = new Set(asks.map(({ mark }) => mark).filter((mark) => known.put.has(mark)));
    known.put = put;
    for (const { ask, requestId, mark } of asks) {
      if (put.has(mark) || !dialect.canAsk(ask.request, session.capabilities)) continue;
      const claimed = await held?.claim({ taskId: task.id, ask, event: event + 1 });
      if (claimed === "claimed" || claimed === "put") put.add(mark);
      if (claimed === "claimed")
        outlet.send(encode.ask(ask, { requestId, elicitationId: elicitationId(task.id, ask.key), taskId: task.id }), eventId());
    }
  }
}
