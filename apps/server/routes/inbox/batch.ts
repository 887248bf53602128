/**
 * Several equal questions that are answered with one form. Equal are those of one tool whose forms have the same fields and words. What
 * cannot be undone is never among them. Which questions these are is found out when they are shown, and again when they are answered.
 *
 * Each answer counts by itself, and only for the question that the person was shown. One that is refused takes back no other.
 */
import {
  answerOnPage,
  type AnswerOnPage,
  type Caller,
  canonicalJson,
  isCounted,
  ParleyError,
  readAsk,
  type Receipt,
  toolNameOf,
} from "@parley/core";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { DOOR, visitAsk } from "../asks/every-page.ts";
import type { Named } from "../asks/lead-on.ts";
import { type FormPage, formOf } from "../asks/questions.ts";
import type { SettledRead, OpenPage } from "@parley/core";

/** As many as a list shows on one page. */
export const BATCH_MAX = 50;
/** Questions that are read or answered at the same time. */
const TOGETHER = 8;
/** How often an answer that a rate refused is sent again, after at most so long a wait. */
const ATTEMPTS_MAX = 4;
const WAIT_MAX_MS = 2_000;

/** Why a question is not answered with the others. */
export type Why = "login" | "risky" | "other" | "elsewhere" | "changed" | "closed" | "unknown";

export interface Batch {
  readonly together: readonly (Named & { readonly page: FormPage })[];
  readonly apart: readonly (Named & { readonly why: Why; readonly page?: OpenPage; readonly end?: SettledRead })[];
}

export interface Wanted extends Named {
  /** Digest of the question that the person was shown. */
  readonly shown?: string | undefined;
}

/** Questions that are not for this person are as those that never existed. */
export async function gather({ services }: FrontEnd, caller: Caller, wanted: readonly Wanted[]): Promise<Batch> {
  const visits = await inTurn(wanted, async (each) => ({ each, ...(await visit(each)) }));
  const [first] = visits.flatMap(({ page, why }) => (page && isForm(page) && why === undefined ? [page] : []));
  const form = first && fingerprint(first);
  const together: Batch["together"][number][] = [];
  const apart: Batch["apart"][number][] = [];
  for (const { each, page, why, end } of visits) {
    const { taskId, key } = each;
    if (why === undefined && page && isForm(page) && fingerprint(page) === form) together.push({ taskId, key, page });
    else apart.push({ taskId, key, why: why ?? "other", ...(page && { page }), ...(end && { end }) });
  }
  return { together, apart };

  async function visit({ taskId, key, shown }: Wanted): Promise<{ page?: OpenPage; why?: Why; end?: SettledRead }> {
    const ref = { taskId, key, caller, door: DOOR };
    try {
      const found = await visitAsk(services, ref);
      if (found.type !== "open") {
        const read = found.type === "of-others" ? undefined : await readAsk(services, ref).catch(() => undefined);
        return { why: found.type === "of-others" ? "unknown" : "closed", ...(read?.state === "settled" && { end: read }) };
      }
      const { page } = found;
      if (!isForm(page)) return { page, why: "elsewhere" };
      if (page.required) return { page, why: "login" };
      if (formOf(page).isRisky) return { page, why: "risky" };
      return { page, ...(shown !== undefined && shown !== page.ask.digest && { why: "changed" as const }) };
    } catch (error) {
      if (error instanceof ParleyError && error.code === "TASK_NOT_FOUND") return { why: "unknown" };
      throw error;
    }
  }
}

function isForm(page: OpenPage): page is FormPage {
  return page.page.kind === "form";
}

/** The same for questions that one answer fits, and whose words say the same about it. */
function fingerprint({ ask, call, page }: FormPage): string {
  return canonicalJson([call.kind, toolNameOf(call), page.schema, page.hints ?? null, ask.audience?.quorum !== undefined]);
}

/** `busy`: the rate of the person is used up. `unsure`: whether it was recorded is not known. */
export type Answered = Receipt | { readonly type: "busy" | "unsure"; readonly end?: undefined };

export interface Receipted extends Named {
  readonly page: OpenPage;
  readonly became: Answered;
  /** Of one that came too late: how the question ended. */
  readonly end?: SettledRead;
}

/** One receipt for each, in their order. */
export async function answerTogether(
  frontEnd: FrontEnd,
  caller: Caller,
  { together }: Pick<Batch, "together">,
  reply: AnswerOnPage["reply"],
): Promise<readonly Receipted[]> {
  const { services } = frontEnd;
  return await inTurn(together, async ({ taskId, key, page }) => {
    const ref = { taskId, key, caller, door: DOOR };
    const became = await answered(frontEnd, { ...ref, digest: page.ask.digest, reply });
    const read = became.type === "late" ? await readAsk(services, ref).catch(() => undefined) : undefined;
    return { taskId, key, page, became, ...(read?.state === "settled" && { end: read }) };
  });
}

async function answered({ services, rates }: FrontEnd, given: AnswerOnPage): Promise<Answered> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (isCounted(given.caller)) await rates.take(given.caller, { answers: 1 });
      return await answerOnPage(services, given);
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      if (error.code === "TASK_NOT_FOUND") return { type: "late" };
      if (error.code !== "QUOTA_EXCEEDED") return { type: "unsure" };
      const waitMs = Number(error.data?.["retryAfterMs"] ?? Infinity);
      if (attempt === ATTEMPTS_MAX || waitMs > WAIT_MAX_MS) return { type: "busy" };
      await services.clock.sleep(waitMs);
    }
  }
}

/** A few at a time, because a batch is one request among many. */
async function inTurn<T, R>(all: readonly T[], work: (each: T) => Promise<R>): Promise<readonly R[]> {
  const done: R[] = [];
  for (let at = 0; at < all.length; at += TOGETHER) done.push(...(await Promise.all(all.slice(at, at + TOGETHER).map(work))));
  return done;
}
