/**
 * What a run reports while it works: progress, logs, status.
 *
 * Reports are sent in the background and in order. While one is on its way, the next ones are collected into a single report.
 */
import { cut } from "../values/cut.ts";
import type { Announcement, Report } from "../ports.ts";
import type { FeedItem, JsonObject } from "../task.ts";

/** How many items the feed of a task keeps. */
export const FEED_LENGTH_MAX = 1_000;

export interface Reports {
  item(item: FeedItem): void;
  message(text: string): void;
  immediateResponse(text: string): void;
  announce(announcement: Announcement): void;
  /** Resolves when every report is sent. Rejects with the error of the first one that failed. */
  sent(): Promise<void>;
}

export interface ReportPorts {
  report(report: Report): Promise<void>;
  announce(announcement: Announcement): Promise<void>;
}

/**
 * `isOpen` says whether the run may report: not while it replays, and not after its end. Texts are cut at `itemMax` characters.
 */
export function createReports(
  ports: ReportPorts,
  { isOpen, itemMax }: { readonly isOpen: () => boolean; readonly itemMax: number },
): Reports {
  let sending: Promise<void> = Promise.resolve();
  let next: { items: FeedItem[]; message?: string; immediateResponse?: string } | undefined;

  function enqueue(work: () => Promise<void>): void {
    sending = sending.then(work);
    sending.catch(() => undefined); // `sent` rejects with it
  }

  function add(change: (report: NonNullable<typeof next>) => void): void {
    if (!isOpen()) return;
    if (!next) {
      next = { items: [] };
      enqueue(async () => {
        const report = next;
        next = undefined;
        if (report) await ports.report(report);
      });
    }
    if (next) change(next);
  }

  return {
    item: (item) =>
      add(({ items }) => {
        items.push(bounded(item, itemMax));
        // The feed would drop older items anyway. This bounds the memory that a handler can fill without a pause.
        if (items.length > FEED_LENGTH_MAX) items.shift();
      }),
    message: (text) => add((report) => (report.message = cut(text, itemMax))),
    immediateResponse: (text) => add((report) => (report.immediateResponse = cut(text, itemMax))),
    announce(announcement) {
      if (isOpen()) enqueue(() => ports.announce(announcement));
    },
    sent: () => sending,
  };
}

function bounded(item: FeedItem, max: number): FeedItem {
  if (item.type === "progress" && item.message !== undefined) return { ...item, message: cut(item.message, max) };
  if (item.type === "emit") return { ...item, data: boundedData(item.data, max) };
  if (item.type !== "log") return item;
  const { logger, ...log } = item;
  const text = JSON.stringify(log.data);
  return {
    ...log,
    ...(logger !== undefined && { logger: cut(logger, max) }),
    ...(text.length > max && { data: cut(typeof log.data === "string" ? log.data : text, max) }),
  };
}

/** Viewers look up members by name, so only the longest text is cut. Data that is too large even without it becomes `{ cut: text }`. */
function boundedData(data: JsonObject, max: number): JsonObject {
  const text = JSON.stringify(data);
  if (text.length <= max) return data;
  const [name, longest] = Object.entries(data).reduce<readonly [string, string]>(
    (found, [key, value]) => (typeof value === "string" && value.length > found[1].length ? [key, value] : found),
    ["", ""],
  );
  const rest = text.length - JSON.stringify(longest).length + '""'.length;
  if (longest === "" || rest >= max) return { cut: cut(text, max) };
  return { ...data, [name]: cut(longest, max - rest) };
}
