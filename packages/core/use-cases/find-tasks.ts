/**
 * A person finds tasks: their own, or those of others that ask them something.
 *
 *   own       the owner's list ──────────────────────▶ status and time ─▶ read, policy.ts ─▶ filter ─▶ a page
 *   others'   open asks that the caller may answer ──▶ each task at its newest ask ─▶ filter ─▶ a page
 *
 * A page examines a bounded number of tasks: if a filter leaves out most of them, it is short and has a cursor.
 */
import type { Caller } from "../callers/caller.ts";
import { viewOf } from "../callers/policy.ts";
import type { Task, TaskStatus } from "../task.ts";
import type { TaskSummary } from "../task/summary.ts";
import { toolNameOf } from "../task/test-call.ts";
import { turns } from "../values/turns.ts";
import { isForPerson, listAsks } from "./list-asks.ts";
import { listTasks } from "./list-tasks.ts";
import type { Services } from "./services.ts";

export interface TaskFilter {
  /** Any of these. */
  readonly statuses?: readonly TaskStatus[];
  /** Name of the tool or prompt. */
  readonly called?: string;
  readonly createdBeforeMs?: number;
  readonly createdAfterMs?: number;
}

export interface FindTasks {
  readonly caller: Caller;
  /** `others`: tasks of others with an open ask that the caller may answer. */
  readonly owner: "caller" | "others";
  readonly filter?: TaskFilter;
  /** Tasks per page. */
  readonly limit: number;
  /** From the page before, with the same `owner`. */
  readonly cursor?: string;
}

export interface FoundTasks {
  /** As the caller may see them. A task whose content cannot be read is among them. */
  readonly tasks: readonly Task[];
  readonly nextCursor?: string;
}

/** Entries that a page examines, and in how many readings of a list at most. */
const LOOKED_MAX = 500;
const READINGS_MAX = 10;
/** Tasks that one page reads at once. */
const READ_TOGETHER = 32;

/** Newest first: own tasks by their creation, others' by their newest ask. Throws INVALID_CURSOR. */
export async function findTasks(services: Services, { caller, owner, filter = {}, limit, cursor }: FindTasks): Promise<FoundTasks> {
  const read = owner === "caller" ? readOwn : readOthers;
  const tasks: Task[] = [];
  let next = cursor;
  let looked = 0;
  for (let reading = 0; reading < READINGS_MAX && looked < LOOKED_MAX && tasks.length < limit; reading += 1) {
    const page = await read(services, { caller, filter, limit: limit - tasks.length, ...(next !== undefined && { cursor: next }) });
    tasks.push(...page.tasks.filter((task) => matches(task, filter)));
    looked += page.looked;
    next = page.nextCursor;
    if (next === undefined) return { tasks };
  }
  return next === undefined ? { tasks } : { tasks, nextCursor: next };
}

interface Reading {
  readonly caller: Caller;
  readonly filter: TaskFilter;
  readonly limit: number;
  readonly cursor?: string;
}

type Read = FoundTasks & { readonly looked: number };

async function readOwn(services: Services, { caller, filter, ...page }: Reading): Promise<Read> {
  const { tasks: listed, nextCursor } = await listTasks(services, { caller, ...page });
  // What the list itself knows is not read.
  const wanted = listed.filter((each) => mayMatch(each, filter));
  const tasks = await views(services, { caller, taskIds: wanted.map(({ id }) => id) });
  return { tasks, looked: listed.length, ...(nextCursor !== undefined && { nextCursor }) };
}

async function readOthers(services: Services, { caller, filter, ...page }: Reading): Promise<Read> {
  const { called } = filter;
  const asked = { owner: "others", snoozed: "any", ...(called !== undefined && { called }) } as const;
  const { asks, nextCursor } = await listAsks(services, { caller, filter: asked, order: "newest", ...page });
  const tasks = await views(services, { caller, taskIds: [...new Set(asks.map(({ taskId }) => taskId))] });
  // A task with several asks is on the page of the newest one alone.
  const isHere = (task: Task) => asks.some(({ taskId, key }) => taskId === task.id && key === newestAskOf(task));
  return { tasks: tasks.filter(isHere), looked: asks.length, ...(nextCursor !== undefined && { nextCursor }) };
}

/** In the order of listAsks. */
function newestAskOf({ asks }: Task): string | undefined {
  const [newest] = asks.filter(isForPerson).toSorted((a, b) => b.askedAtMs - a.askedAtMs || (a.key < b.key ? 1 : -1));
  return newest?.key;
}

async function views({ store }: Pick<Services, "store">, { caller, taskIds }: { caller: Caller; taskIds: readonly string[] }) {
  const turn = turns(READ_TOGETHER);
  const loaded = await Promise.all(taskIds.map((id) => turn(() => store.load(id))));
  return loaded.flatMap((task) => (task && viewOf(caller, task)) ?? []);
}

function mayMatch({ status, createdAtMs }: Pick<TaskSummary, "status" | "createdAtMs">, filter: TaskFilter): boolean {
  if (filter.statuses !== undefined && !filter.statuses.includes(status)) return false;
  if (filter.createdBeforeMs !== undefined && createdAtMs >= filter.createdBeforeMs) return false;
  return filter.createdAfterMs === undefined || createdAtMs > filter.createdAfterMs;
}

function matches({ status, call }: Task, filter: TaskFilter): boolean {
  return mayMatch({ status, createdAtMs: call.createdAtMs }, filter) && (filter.called === undefined || filter.called === toolNameOf(call));
}
