/**
 * The addresses of the pages of asks (routes/asks), below the address at which people reach the server:
 *
 *   <PARLEY_PUBLIC_URL>/asks/<task id>/<ask key>         the person who opens it logs in
 *   http://127.0.0.1:3000/asks/<task id>/<ask key>?k=…   without identity: the address alone opens the page
 *
 * The address is added when a front end reads a task, or hears how it has changed, and is never stored, because it may change while the task waits.
 */
import type { Ask, Services, Task, TaskStore, WakeUps } from "@parley/core";

export const ASKS_PATH = "/asks";
/** The page on which people see the access that they granted for later calls (routes/accounts). */
export const ACCOUNTS_PATH = "/accounts";
/** The page of approvals that hold for later calls, and of how people decide (routes/approvals). */
export const APPROVALS_PATH = "/approvals";

/** What is asked of a person, in one list (routes/inbox). */
export const INBOX_PATH = "/inbox";

export interface PageAddresses {
  urlOf(taskId: string, key: string): string;
  /** The address at which people reach this server: scheme, host, and possibly a path. */
  base(): string;
  /** Of the list of everything that is asked of a person. Without identity, it has a ticket, as the addresses of pages. */
  inbox(): string;
  /** The origins from which the form of such a page may be submitted. */
  origins(): readonly string[];
}

/**
 * Where people log in and answer. Undefined without a login, where the address alone would open it, and for a called tool's question in the task
 * that shows it: its page belongs to the task of that tool.
 */
export function loginPageOf(
  { urlOf }: { readonly urlOf?: ((taskId: string, key: string) => string) | undefined },
  { taskId, key }: { readonly taskId: string; readonly key: string },
): string | undefined {
  return key.includes(":") ? undefined : urlOf?.(taskId, key);
}

interface PageAddressesOptions {
  readonly publicUrl: string | undefined;
  readonly ticket: ((taskId: string, key: string) => string) | undefined;
  /** The server's own address. Called only once the server listens. */
  readonly listening: () => string;
}

export function pageAddresses({ publicUrl, ticket, listening }: PageAddressesOptions): PageAddresses {
  const base = () => publicUrl ?? listening();
  return {
    base,
    urlOf(taskId, key) {
      const url = `${base()}${askPath(taskId, key)}`;
      return ticket ? `${url}?k=${ticket(taskId, key)}` : url;
    },
    inbox: () => `${base()}${INBOX_PATH}${ticket ? `?k=${ticket("", "")}` : ""}`,
    origins: () => [...new Set([publicUrl, listening()].flatMap((url) => (url ? [new URL(url).origin] : [])))],
  };
}

/** Below the address of the server. */
export function askPath(taskId: string, key: string): string {
  return `${ASKS_PATH}/${encodeURIComponent(taskId)}/${pathOf(key)}`;
}

/** Keeps the slashes between the names of branches, because some proxies decode %2F and others refuse it. */
function pathOf(key: string): string {
  return key.split("/").map(encodeURIComponent).join("/");
}

/** Services whose tasks carry the addresses of their pages, whether a task is read or known from a wake-up. */
export function withPageAddresses<S extends Pick<Services, "store" | "wakeUps">>(services: S, { urlOf }: Pick<PageAddresses, "urlOf">): S {
  return withAsks(services, (taskId, ask) => {
    const { key, request, route = { taskId, key } } = ask;
    if (request.type !== "url" || !request.page) return ask;
    // The page belongs to the task that asks, which may be a child of this one.
    return { ...ask, request: { ...request, url: urlOf(route.taskId, route.key) } };
  });
}

/** Services whose tasks have each ask as `shown` makes it, whether a task is read or known from a wake-up. What `shown` does not change stays the same. */
export function withAsks<S extends Pick<Services, "store" | "wakeUps">>(services: S, shown: (taskId: string, ask: Ask) => Ask): S {
  const { store, wakeUps } = services;

  function withShown(task: Task | undefined): Task | undefined {
    if (!task) return task;
    const asks = task.asks.map((ask) => shown(task.id, ask));
    return asks.every((ask, index) => ask === task.asks[index]) ? task : { ...task, asks };
  }

  const load: TaskStore["load"] = async (taskId) => withShown(await store.load(taskId));
  const watch: WakeUps["watch"] = (taskId, onChange) =>
    wakeUps.watch(taskId, (change) => {
      const apply = change?.apply;
      onChange(apply ? { ...change, apply: (task) => withShown(apply(task)) } : change);
    });
  // Prototypes, not lists of methods: a method that is added later is inherited too.
  return {
    ...services,
    store: Object.assign(Object.create(store) as TaskStore, { load }),
    wakeUps: Object.assign(Object.create(wakeUps) as WakeUps, { watch }),
  };
}
