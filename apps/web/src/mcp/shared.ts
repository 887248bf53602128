/** Functions that the drivers of all dialects share. */
import { TEXTS } from "../play-texts.ts";
import { type Endpoint, Lost, RpcError } from "../wire/endpoint.ts";
import type { CallListener, End, Question, ReplyOutcome, Running, Violation } from "./types.ts";

/** After one of these texts, a server reports what was wrong with the last answer: its front end, or the tool. */
const REFUSED = /\n\nThe last answer (?:could not be taken|does not fit): /;

/** The question in an `elicitation/create`. Undefined for other requests: this client declares no other capability. */
export function questionOf(id: string, request: { readonly method?: unknown; readonly params?: unknown }): Question | undefined {
  if (request.method !== "elicitation/create") return undefined;
  const { message, requestedSchema, url, mode, _meta: meta } = (request.params ?? {}) as Record<string, unknown>;
  const hints = ((meta as Record<string, unknown> | undefined)?.["parley/hints"] ?? {}) as Record<string, unknown>;
  const problems = textsIn(hints["problems"]);
  return {
    id,
    message: typeof message === "string" ? message : "",
    schema: mode === "url" ? undefined : ((requestedSchema ?? { type: "object", properties: {} }) as NonNullable<Question["schema"]>),
    url: mode !== "url" ? undefined : typeof url === "string" ? url : "",
    hints,
    ...(problems.length > 0 && { problems: Object.fromEntries(problems) }),
  };
}

function textsIn(given: unknown): readonly (readonly [string, string])[] {
  const entries = typeof given === "object" && given !== null ? Object.entries(given as Record<string, unknown>) : [];
  return entries.flatMap(([name, text]) => (typeof text === "string" ? [[name, text] as const] : []));
}

/** What tells one question from another. */
export type Asked = Pick<Question, "message" | "schema" | "url">;

/** Identifies a question without the problems of the last answer: equal each time it is asked. */
export function sameQuestion({ message, schema, url }: Asked): string {
  return JSON.stringify([wordsOf(message), schema ?? url]);
}

export function wordsOf(message: string): string {
  return message.split(REFUSED)[0] ?? message;
}

export function problemIn(message: string): string | undefined {
  return message.split(REFUSED)[1];
}

/** The outcome of a reply that an error reports. Rethrows errors that are not about the reply. */
export function outcomeOf(error: unknown): ReplyOutcome {
  if (!(error instanceof RpcError)) throw error;
  const { violations, code } = (error.data ?? {}) as { readonly violations?: readonly Violation[]; readonly code?: string };
  if (violations) return { type: "refused", message: error.message, violations };
  if (code === "NOT_OPEN" || code === "TASK_FINISHED") return { type: "late" };
  throw error;
}

export function endOf(error: unknown): End {
  if (error instanceof RpcError) return { type: "error", message: error.message, code: error.code, data: error.data };
  return { type: "error", message: error instanceof Error ? error.message : String(error) };
}

interface CallThenFollow {
  readonly call: (signal: AbortSignal) => Promise<Record<string, unknown>>;
  /** The id of the task that the result hands out. */
  readonly handleIn: (result: Record<string, unknown>) => string | undefined;
  readonly follow: (taskId: string, listener: CallListener) => Running;
}

/** A call whose result may be the handle of a task, which is then followed. */
export function callThenFollow(listener: CallListener, { call, handleIn, follow }: CallThenFollow): Running {
  const left = new AbortController();
  const following = begin();

  async function begin(): Promise<Running | undefined> {
    try {
      const result = await call(left.signal);
      const taskId = handleIn(result);
      if (taskId !== undefined) {
        listener.handle(taskId);
        return follow(taskId, listener);
      }
      listener.ended({ type: "result", result });
    } catch (error) {
      if (!left.signal.aborted) listener.ended(endOf(error));
    }
    return undefined;
  }

  return {
    answer: async (id, reply) => (await (await following)?.answer(id, reply)) ?? { type: "late" },
    // Before there is a task, as soon as there is one.
    cancel: async () => await (await following)?.cancel(),
    leave() {
      left.abort();
      void following.then((running) => running?.leave());
    },
  };
}

export function nothingKept(): never {
  throw new Error(TEXTS.noResume);
}

/** Waits between attempts to reach a server that is unavailable, or that refused the token: then until the person sets another. */
export function backoff({ permitted }: Pick<Endpoint, "permitted">) {
  let ms = 250;
  return {
    succeeded(): void {
      ms = 250;
    },
    async wait(signal: AbortSignal): Promise<void> {
      await pause(ms, signal);
      await permitted(signal);
      ms = Math.min(ms * 2, 3_000);
    },
  };
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Whether a retry may succeed: the server is unavailable, overloaded or closing, or it waits for a token that has not expired. */
export function isPassing(error: unknown): boolean {
  return error instanceof Lost || (error instanceof RpcError && [401, 429, 503].includes(error.httpStatus));
}

/** All pages of a list. */
export async function allPages<Item>(
  page: (cursor: string | undefined) => Promise<Record<string, unknown>>,
  name: string,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const result = await page(cursor);
    items.push(...((result[name] ?? []) as Item[]));
    cursor = typeof result["nextCursor"] === "string" ? result["nextCursor"] : undefined;
  } while (cursor !== undefined && items.length < 10_000);
  return items;
}
