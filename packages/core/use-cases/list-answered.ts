/**
 * What a person has answered, the newest first, for as long as the tasks are kept. The list leads to the answers, and
 * read-ask.ts decides what of each the person may still read.
 */
import type { AskPlace } from "../callers/open-asks.ts";
import { type Caller, DEFAULT_TENANT } from "../callers/caller.ts";
import { ParleyError } from "../errors.ts";
import { invalidCursor } from "../task/invalid-cursor.ts";
import { turns } from "../values/turns.ts";
import { type AskRead, readAsk } from "./read-ask.ts";
import type { Services } from "./services.ts";

export interface ListAnswered {
  readonly caller: Caller;
  /** Answers per page. */
  readonly limit: number;
  /** From the page before. */
  readonly cursor?: string;
}

export interface AnsweredPage {
  readonly answered: readonly { readonly answeredAtMs: number; readonly ask: AskRead }[];
  readonly nextCursor?: string;
}

/** Answers that a page looks at. Those whose tasks are gone are left out, and a page may be short. */
const LOOKED_MAX = 200;
/** Tasks that one list reads at once. */
const READ_TOGETHER = 32;

/** Throws INVALID_CURSOR. Callers that cannot be told apart have no list. */
export async function listAnswered(
  services: Pick<Services, "store" | "audit" | "digest" | "clock">,
  { caller, limit, cursor }: ListAnswered,
): Promise<AnsweredPage> {
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  const { principal, tenant, authenticatedBy } = caller;
  if (authenticatedBy === "nobody") return { answered: [] };
  const giver = { principal, ...(tenant !== DEFAULT_TENANT && { tenant }) };
  const places = await services.store.answered({ ...giver, limit: LOOKED_MAX, ...(after && { after }) });
  const turn = turns(READ_TOGETHER);
  const found: AnsweredPage["answered"][number][] = [];
  let next = 0;
  while (found.length < limit && next < places.length) {
    const looked = places.slice(next, next + limit - found.length);
    next += looked.length;
    const read = await Promise.all(looked.map((place) => turn(() => orNothing(readAsk(services, { ...place, caller })))));
    for (const [index, ask] of read.entries()) if (ask) found.push({ answeredAtMs: looked[index]?.atMs ?? 0, ask });
  }
  const last = places[next - 1];
  const isAll = next === places.length && places.length < LOOKED_MAX;
  return { answered: found, ...(!isAll && last && { nextCursor: formatCursor(last) }) };
}

async function orNothing(reading: Promise<AskRead>): Promise<AskRead | undefined> {
  try {
    return await reading;
  } catch (error) {
    // One answer whose key was destroyed does not hide the others.
    if (error instanceof ParleyError && error.code !== "UNAVAILABLE") return undefined;
    throw error;
  }
}

const CURSOR = /^(\d{1,16})\.([\w~-]{1,200})\.(\S{1,500})$/;

function formatCursor({ atMs, taskId, key }: AskPlace): string {
  return `${atMs}.${taskId}.${key}`;
}

function parseCursor(cursor: string): AskPlace {
  const [, atMs, taskId = "", key = ""] = CURSOR.exec(cursor) ?? [];
  const place = { atMs: Number(atMs), taskId, key };
  if (formatCursor(place) !== cursor) throw invalidCursor();
  return place;
}
