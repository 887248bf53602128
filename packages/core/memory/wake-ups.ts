import type { AskedRequest } from "../callers/open-asks.ts";
import type { Announcement, TaskChange, WakeUps } from "../ports.ts";

export interface MemoryWakeUps extends WakeUps {
  /** Wakes everyone who watches the task. The memory store calls it after each change that clients can see. */
  changed(taskId: string, change?: TaskChange): void;
  /** Wakes those who watch one of these names of the tenant. The memory store calls it after each change of such an ask. */
  askedChanged(asked: Pick<AskedRequest, "tenant" | "names">): void;
}

/**
 * Wake-ups within one process. Listeners are called from the microtask queue, so that no writer runs inside another's
 * write.
 */
export function createMemoryWakeUps(): MemoryWakeUps {
  const watchers = new Map<string, Set<(change?: TaskChange) => void>>();
  const listeners = new Set<(announcement: Announcement) => void>();
  const askedListeners = new Set<(asked: Pick<AskedRequest, "tenant" | "names">) => void>();

  return {
    changed(taskId, change) {
      for (const onChange of watchers.get(taskId) ?? []) queueMicrotask(() => onChange(change));
    },
    async watch(taskId, onChange) {
      const watching = watchers.get(taskId) ?? new Set();
      watchers.set(taskId, watching);
      // A separate listener, so that one function can watch twice.
      const listener = (change?: TaskChange) => onChange(change);
      watching.add(listener);
      return () => {
        watching.delete(listener);
        if (watching.size === 0 && watchers.get(taskId) === watching) watchers.delete(taskId);
      };
    },
    async tell(taskId, news) {
      for (const onChange of watchers.get(taskId) ?? []) queueMicrotask(() => onChange({ revision: 0, isEnd: false, news }));
    },
    isWatched: (taskId) => watchers.has(taskId),
    askedChanged(asked) {
      for (const listener of askedListeners) queueMicrotask(() => listener(asked));
    },
    async watchAsked({ tenant, names }, onChange) {
      const listener = (asked: Pick<AskedRequest, "tenant" | "names">) => {
        if (asked.tenant === tenant && asked.names.some((name) => names.includes(name))) onChange();
      };
      askedListeners.add(listener);
      return () => {
        askedListeners.delete(listener);
      };
    },
    async tellAsked(asked) {
      for (const listener of askedListeners) queueMicrotask(() => listener(asked));
    },
    async announce(announcement) {
      for (const listener of listeners) queueMicrotask(() => listener(announcement));
    },
    async onAnnouncement(onAnnouncement) {
      const listener = (announcement: Announcement) => onAnnouncement(announcement);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
