/**
 * Where the pages of asks are (routes/asks): below the address at which people reach the server, by task and ask.
 *
 *   <PARLEY_PUBLIC_URL>/asks/<task id>/<ask key>        who opens it logs in
 *   http://127.0.0.1:3000/asks/<task id>/<ask key>?k=…   without identity: who has this address may open it
 *
 * It is put into what front ends read of tasks, not into what is stored: an address may change while a task waits.
 */
import type { Ask, TaskStore } from "@parley/core";

export const ASKS_PATH = "/asks";

export interface PageAddresses {
  urlOf(taskId: string, key: string): string;
  /** At which people reach this server: scheme, host, perhaps a path. */
  base(): string;
  /** Origins that a form of such a page may come from. */
  origins(): readonly string[];
}

interface PageAddressesOptions {
  readonly publicUrl: string | undefined;
  readonly ticket: ((taskId: string, key: string) => string) | undefined;
  /** Once the server listens. */
  readonly listening: () => string;
}

export function pageAddresses({ publicUrl, ticket, listening }: PageAddressesOptions): PageAddresses {
  const base = () => publicUrl ?? listening();
  return {
    base,
    urlOf(taskId, key) {
      const url = `${base()}${ASKS_PATH}/${taskId}/${pathOf(key)}`;
      return ticket ? `${url}?k=${ticket(taskId, key)}` : url;
    },
    origins: () => [...new Set([publicUrl, listening()].flatMap((url) => (url ? [new URL(url).origin] : [])))],
  };
}

/** Slashes, which part the names of branches, stay as they are: some proxies decode %2F and some refuse it. */
function pathOf(key: string): string {
  return key.split("/").map(encodeURIComponent).join("/");
}

/** The store, as readers of tasks see it who have to say where pages are. */
export function withPageAddresses(store: TaskStore, { urlOf }: Pick<PageAddresses, "urlOf">): TaskStore {
  const addressed =
    (taskId: string) =>
    (ask: Ask): Ask => {
      if (ask.request.type !== "url" || !ask.request.page) return ask;
      // A page is of the task that asks.
      const at = ask.route ?? { taskId, key: ask.key };
      return { ...ask, request: { ...ask.request, url: urlOf(at.taskId, at.key) } };
    };
  const load: TaskStore["load"] = async (taskId) => {
    const task = await store.load(taskId);
    return task && task.asks.some(({ request }) => request.type === "url") ? { ...task, asks: task.asks.map(addressed(taskId)) } : task;
  };
  // All else is the store's own, also what it learns to do later.
  return Object.assign(Object.create(store) as TaskStore, { load });
}
