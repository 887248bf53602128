/** What a call has reported so far, within bounds, for the page. */
import { cut } from "@parley/core/cut";
import type { Json, JsonObject } from "@parley/core/form";
import { filled } from "../../texts/words.ts";
import { TEXTS } from "../play-texts.ts";

export interface Line {
  readonly id: number;
  readonly kind: "log" | "toast" | "emit";
  /** The level of a log entry, the type of a toast, or the kind of anything else. */
  readonly label: string;
  readonly text: string;
}

export interface Artifact {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly url?: string;
  readonly content?: string;
  readonly language?: string;
  readonly mimeType?: string;
}

export interface Progress {
  /** From 0 to 1; undefined if the total is unknown. */
  readonly part: number | undefined;
  readonly words: string;
}

export interface Activity {
  readonly lines: readonly Line[];
  readonly linesDropped: number;
  readonly stream: string;
  readonly artifacts: readonly Artifact[];
  readonly progress: Progress | undefined;
  readonly thinking: boolean;
}

export const NO_ACTIVITY: Activity = { lines: [], linesDropped: 0, stream: "", artifacts: [], progress: undefined, thinking: false };

const LINES_MAX = 200;
const LINE_CHARS_MAX = 4_000;
const STREAM_CHARS_MAX = 100_000;
const ARTIFACTS_MAX = 30;

/** An item of a task's feed or of a notification. The page may be older than the server, so it relies on no member except `type`. */
export interface Item {
  readonly type: string;
  readonly [member: string]: unknown;
}

let ids = 0;

/** Adds items to the activity. */
export function withItems(activity: Activity, items: readonly Item[]): Activity {
  const lines = [...activity.lines];
  const artifacts = [...activity.artifacts];
  let { stream, progress, thinking } = activity;
  const say = (kind: Line["kind"], label: string, text: string) =>
    lines.push({ id: (ids += 1), kind, label, text: cut(text, LINE_CHARS_MAX) });

  for (const item of items) {
    if (item.type === "progress") progress = progressOf(item);
    else if (item.type === "log") say("log", word(item["level"], "info"), logText(item));
    else if (item.type === "emit") {
      const kind = word(item["kind"], "emit");
      const data = (typeof item["data"] === "object" && item["data"] !== null ? item["data"] : {}) as JsonObject;
      if (kind === "stream") stream = (stream + chunkOf(data["data"] ?? data["cut"])).slice(-STREAM_CHARS_MAX);
      else if (kind === "thinking") thinking = data["active"] !== false;
      else if (kind === "toast") say("toast", word(data["type"], "info"), plain(data["message"] ?? data));
      else if (kind === "artifact") artifacts.push(artifactOf(data));
      else if (kind === "qr" && typeof data["value"] === "string") artifacts.push(artifactOf({ type: "qr", content: data["value"] }));
      else if (kind === "status") say("emit", word(data["type"], "info"), plain(data["message"] ?? data));
      // The feed also contains it as a progress item.
      else if (kind !== "progress") say("emit", kind, plain(data["value"] ?? data));
    } else say("emit", item.type, plain(item as Json));
  }

  const excess = Math.max(0, lines.length - LINES_MAX);
  return {
    lines: lines.slice(excess),
    linesDropped: activity.linesDropped + excess,
    stream,
    artifacts: artifacts.slice(-ARTIFACTS_MAX),
    progress,
    thinking,
  };
}

/** Converts a notification of a held call to an item; undefined if it is not from the tool. */
export function itemOf({ method, params }: { readonly method: string; readonly params: Record<string, unknown> }): Item | undefined {
  if (method === "notifications/progress") return { ...params, type: "progress" };
  if (method === "notifications/message") return { ...params, type: "log" };
  return undefined;
}

/** Whether a result has it as well, as that of a generator has: one of the two is enough. No result has the picture of a QR code. */
export function isInResult({ type, content, url }: Artifact, result: Readonly<Record<string, unknown>>): boolean {
  if (type === "qr") return false;
  const blocks = Array.isArray(result["content"]) ? (result["content"] as readonly (JsonObject | null)[]) : [];
  const texts = blocks.flatMap((block) => {
    const { text, data, uri, resource } = block ?? {};
    const { text: within } = (typeof resource === "object" && resource !== null ? resource : {}) as JsonObject;
    return [text, data, uri, within].filter((each) => typeof each === "string");
  });
  const isCode = (text: string) => text.endsWith("```") && text.includes(`\n${content}\n\`\`\``);
  if (content !== undefined) return texts.some((text) => text === content || isCode(text));
  return url !== undefined && texts.some((text) => text === url || (url.startsWith("data:") && url.endsWith(`,${text}`)));
}

function progressOf({ progress, total, message }: Item): Progress {
  const done = Number(progress);
  const all = Number(total);
  const part = all > 0 ? done / all : done > 0 && done <= 1 ? done : undefined;
  const count =
    all > 0
      ? filled(TEXTS.of, { done: tidy(done), all: tidy(all) })
      : part === undefined
        ? done >= 1
          ? tidy(done)
          : ""
        : `${Math.round(part * 100)} %`;
  const words = [count, typeof message === "string" ? cut(message, LINE_CHARS_MAX) : ""].filter(Boolean).join(": ");
  return { part: part === undefined ? undefined : Math.min(1, Math.max(0, part)), words };
}

/** Rounded, because the server raises progress by tiny amounts to keep waiting clients alive. */
function tidy(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function logText({ data, logger }: Item): string {
  const text = plain(data as Json | undefined);
  return typeof logger === "string" ? `${logger}: ${text}` : text;
}

function artifactOf(data: JsonObject): Artifact {
  const text = (name: string) => (typeof data[name] === "string" ? data[name] : undefined);
  const { content } = data;
  const shown = typeof content === "string" ? content : content === undefined ? undefined : JSON.stringify(content, undefined, 2);
  const [url, language, mimeType] = [text("url"), text("language"), text("mimeType")];
  return {
    id: (ids += 1),
    type: word(data["type"], "document"),
    title: text("title") ?? "",
    ...(url !== undefined && { url }),
    ...(shown !== undefined && { content: cut(shown, STREAM_CHARS_MAX) }),
    ...(language !== undefined && { language }),
    ...(mimeType !== undefined && { mimeType }),
  };
}

function plain(value: Json | undefined): string {
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
}

/** Each data value becomes a line. */
function chunkOf(value: Json | undefined): string {
  return typeof value === "string" ? value : `${plain(value)}\n`;
}

function word(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value.slice(0, 40) : otherwise;
}
