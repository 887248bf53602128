/** What a run says while it works: in order, in the background, gathered while an earlier report is on its way. */
import { cut } from "../cut.ts";
import type { Announcement, Report } from "../ports.ts";
import type { FeedItem, JsonObject } from "../task.ts";

/** Items that are kept of a feed. */
export const FEED_LENGTH_MAX = 1_000;

export interface Reports {
  item(item: FeedItem): void;
  message(text: string): void;
  immediateResponse(text: string): void;
  announce(announcement: Announcement): void;
  /** Resolves when all is told. Throws what the first report that failed threw. */
  told(): Promise<void>;
}

export interface ReportPorts {
  report(report: Report): Promise<void>;
  announce(announcement: Announcement): Promise<void>;
}

/** `isOpen` says whether the run still speaks: not while it replays, and not behind its end. Longer texts than `itemMax` are cut. */
export function createReports(
  ports: ReportPorts,
  { isOpen, itemMax }: { readonly isOpen: () => boolean; readonly itemMax: number },
): Reports {
  let telling: Promise<void> = Promise.resolve();
  let next: { items: FeedItem[]; message?: string; immediateResponse?: string } | undefined;

  function tell(work: () => Promise<void>): void {
    telling = telling.then(work);
    telling.catch(() => undefined); // seen in `told`
  }

  function add(change: (report: NonNullable<typeof next>) => void): void {
    if (!isOpen()) return;
    if (!next) {
      next = { items: [] };
      tell(async () => {
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
        // A feed keeps no more: what a handler says without a pause takes no more memory than that.
        if (items.length > FEED_LENGTH_MAX) items.shift();
      }),
    message: (text) => add((report) => (report.message = cut(text, itemMax))),
    immediateResponse: (text) => add((report) => (report.immediateResponse = cut(text, itemMax))),
    announce(announcement) {
      if (isOpen()) tell(() => ports.announce(announcement));
    },
    told: () => telling,
  };
}

function bounded(item: FeedItem, max: number): FeedItem {
  if (item.type === "progress" && item.message !== undefined) return { ...item, message: cut(item.message, max) };
  if (item.type === "emit") return { ...item, data: boundedData(item.data, max) };
  if (item.type !== "log") return item;
  const text = JSON.stringify(item.data);
  return text.length <= max ? item : { ...item, data: cut(typeof item.data === "string" ? item.data : text, max) };
}

/** What shows it knows its members by name: so the longest of its texts is cut, and only what is large without it becomes one text, `cut`. */
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
