/**
 * subscriptions/listen: a stream that says which of the caller's tasks, lists and resources have changed, until either side ends it.
 *
 * Wake-ups only mark what has changed; the loop below reads and sends, at the reader's pace. A task that changes ten times while the reader
 * takes one message is read once: what waits in memory is at most one mark for each thing that is followed.
 *
 * Source: specification 2026-07-28, basic/patterns/subscriptions, and the Tasks extension, "Notifications".
 */
import { type Announcement, isFinished, ParleyError } from "@parley/core";
import type { ClientFacts, Filter, Listen } from "@parley/protocol";
import type { Exchange, Handled, Mcp } from "./mcp.ts";
import { type Marks, marks } from "./marks.ts";

/** Tasks that are read at once. */
const READ_TOGETHER = 32;

/** Throws TOO_MANY_SUBSCRIPTIONS, OVERLOADED. */
export async function listen(mcp: Mcp, intent: Listen & ClientFacts, exchange: Exchange): Promise<Handled> {
  const { listenTasksMax, listenResourcesMax } = mcp.limits;
  atMost(listenTasksMax, intent.taskIds, "tasks", "PARLEY_LISTEN_TASKS_MAX");
  atMost(listenResourcesMax, intent.resourceSubscriptions, "resources", "PARLEY_LISTEN_RESOURCES_MAX");
  const leave = mcp.listens.enter();
  const changed = marks();
  const followed = new Map<string, Followed>();
  const stops = [leave, () => followed.forEach(({ unwatch }) => unwatch())];
  const { closed } = exchange.outlet;
  const { closing } = mcp.lifecycle;
  try {
    closed.addEventListener("abort", changed.wake);
    closing.addEventListener("abort", changed.wake);
    stops.push(() => closing.removeEventListener("abort", changed.wake));
    const agreed = await agree(mcp, intent, exchange);
    exchange.outlet.send(mcp.encode.acknowledged(exchange.id, agreed));
    stops.push(followLists(mcp, agreed, changed));
    await followTasks(mcp, agreed.taskIds, { changed, followed });
    await tell(mcp, exchange, { changed, followed });
    return closed.aborted ? undefined : mcp.encode.listenEnd(exchange.id);
  } finally {
    for (const stop of stops) stop();
  }
}

function atMost(limit: number, followed: readonly string[], what: string, setting: string): void {
  if (followed.length > limit)
    throw new ParleyError("TOO_MANY_SUBSCRIPTIONS", `${followed.length} ${what}; the limit is ${limit} (${setting})`);
}

/** Leaves out the tasks that are not the caller's: nobody learns whether they exist. */
async function agree({ services }: Mcp, intent: Listen, { principal }: Exchange): Promise<Filter> {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = intent;
  const tasks = await Promise.all(intent.taskIds.map((taskId) => services.store.load(taskId)));
  const taskIds = tasks.flatMap((task) => (task?.call.principal === principal && !task.call.hidden ? [task.id] : []));
  return { taskIds, toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions };
}

interface Followed {
  readonly unwatch: () => void;
  /** The revision that was sent last. */
  revision: number;
}

/** Each task is marked at once, so that what happened before its watch began is read too. */
async function followTasks({ services }: Mcp, taskIds: readonly string[], { changed, followed }: Telling): Promise<void> {
  await Promise.all(
    taskIds.map(async (taskId) => {
      const mark = () => changed.tasks.mark(taskId);
      const unwatch = await services.events.watch(taskId, mark);
      followed.set(taskId, { unwatch, revision: 0 });
      mark();
    }),
  );
}

function followLists({ announcements }: Mcp, agreed: Filter, changed: Marks): () => void {
  const uris = new Set(agreed.resourceSubscriptions);
  const wanted = { tools: agreed.toolsListChanged, prompts: agreed.promptsListChanged, resources: agreed.resourcesListChanged };
  return announcements.onAnnouncement((announcement: Announcement) => {
    if (announcement.type === "resource") {
      if (uris.has(announcement.uri)) changed.resources.mark(announcement.uri);
    } else if (wanted[announcement.type]) changed.lists.mark(announcement.type);
  });
}

interface Telling {
  readonly changed: Marks;
  readonly followed: Map<string, Followed>;
}

/** Sends what is marked until the stream ends. */
async function tell(mcp: Mcp, exchange: Exchange, { changed, followed }: Telling): Promise<void> {
  const { encode, lifecycle, services } = mcp;
  const { id: subscriptionId, outlet } = exchange;
  const over = () => outlet.closed.aborted || lifecycle.closing.aborted;
  while (!over()) {
    await changed.next();
    await outlet.drained();
    if (over()) return;
    for (const kind of changed.lists.take()) outlet.send(encode.listChanged(kind, subscriptionId));
    for (const uri of changed.resources.take()) outlet.send(encode.resourceUpdated(uri, subscriptionId));
    const taskIds = changed.tasks.take(READ_TOGETHER);
    const tasks = await Promise.all(taskIds.map((taskId) => services.store.load(taskId)));
    for (const [index, taskId] of taskIds.entries()) {
      const task = tasks[index];
      const known = followed.get(taskId);
      if (!known) continue;
      if (task && task.revision > known.revision) {
        known.revision = task.revision;
        outlet.send(encode.taskNotification(task, { subscriptionId, nowMs: services.clock.now() }));
        await outlet.drained();
      }
      // A finished task never changes again (I1); one that is gone never comes back.
      if (!task || isFinished(task.status)) {
        known.unwatch();
        followed.delete(taskId);
      }
    }
  }
}
