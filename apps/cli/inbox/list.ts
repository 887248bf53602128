/** The open questions that a person may answer. */
import { ApiError, type ApiClient, type AskFilters, type AskSummary, type OpenAsk } from "../client/api-client.ts";
import { readAsk } from "../questions/answer-ask.ts";
import { cleanLine, printToStderr } from "../terminal/terminal.ts";

export interface Filters extends Omit<AskFilters, "limit" | "cursor"> {
  readonly limit: number;
}

export interface Listed {
  readonly asks: readonly AskSummary[];
  /** There are more. */
  readonly isMore: boolean;
}

const PAGE_MAX = 100;
/** Questions that are read at the same time. */
const TOGETHER = 8;

export async function listAsks(api: ApiClient, { limit, ...filters }: Filters): Promise<Listed> {
  const asks: AskSummary[] = [];
  let wanted: Omit<AskFilters, "limit" | "cursor"> = { toReply: "any", ...filters };
  for (let cursor: string | undefined; ;) {
    const left = Math.min(PAGE_MAX, limit - asks.length);
    const page = await api
      .get("/asks", { query: { ...wanted, limit: left, ...(cursor !== undefined && { cursor }) } })
      .catch(withoutReplies);
    if (page === undefined) {
      wanted = filters;
      continue;
    }
    asks.push(...page.asks);
    cursor = page.nextCursor;
    // A page whose questions a filter leaves out is short, and the next one may have some.
    if (cursor === undefined || asks.length >= limit) return { asks, isMore: cursor !== undefined };
  }
}

/** Undefined if the server is of a version in which nobody asks back, and which refuses the word. Throws every other error. */
function withoutReplies(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 400 && error.message === 'there is no parameter "toReply"') return undefined;
  throw error;
}

/** The whole questions. Those that were settled meanwhile are left out. */
export async function readOpen(api: ApiClient, asks: readonly AskSummary[]): Promise<readonly OpenAsk[]> {
  const open: OpenAsk[] = [];
  for (let at = 0; at < asks.length; at += TOGETHER) {
    const read = await Promise.all(asks.slice(at, at + TOGETHER).map((each) => stillOpen(api, each)));
    open.push(...read.filter((each) => each !== undefined));
  }
  return open;
}

/** Undefined if the question is no longer for this person. Content that cannot be read hides no other question. */
export async function stillOpen(api: ApiClient, { taskId, key }: Pick<AskSummary, "taskId" | "key">): Promise<OpenAsk | undefined> {
  try {
    const ask = await readAsk(api, taskId, key);
    return ask?.state === "open" || ask?.state === "accepted" || (ask?.state === "of-others" && ask.askedBack && ask.owner.isCaller)
      ? ask
      : undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || !error.problem.code?.startsWith("CONTENT_")) throw error;
    printToStderr(`${cleanLine(key)} of task ${cleanLine(taskId)} cannot be read: ${cleanLine(error.message)}`);
    return undefined;
  }
}
