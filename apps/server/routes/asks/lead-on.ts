/**
 * After an answer, the person comes to what the same task asks them next, if it asks soon:
 *
 *   POST answer ──counted──▶ wait a moment ──next question──▶ 303 to its page, which says that the answer counted
 *                                  └──nothing──▶ the receipt; the page of the question shows the way once there is one
 */
import { type Caller, nextAsk, type PageRef, ParleyError, type Services } from "@parley/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ACCOUNTS_PATH, type PageAddresses } from "../../front-end/page-addresses.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { readerOf } from "../../texts/texts.ts";
import { type Html, markup, say } from "./html.ts";

/** A tool asks on within some hundredths of a second. Whoever waits for the word that their answer counted waits no longer than this. */
export const NEXT_WAIT_MS = 1_000;

export interface Onward {
  /** Leads to the next question. Undefined if there is none for this person, or none yet. */
  lead(reply: FastifyReply, answered: PageRef, how?: Leading): Promise<FastifyReply | undefined>;
  /**
   * The way to the next question, on a page that shows how one ended: by this person's answer, or otherwise. A person who has just answered, such as
   * by pressing twice, waits for it as for the question itself.
   */
  link(request: FastifyRequest, ended: PageRef, isAnswered: boolean): Promise<Html | undefined>;
  /** Says that the answer counted which led to this page. */
  counted(request: FastifyRequest): Html | undefined;
  /** Of access that later calls use as well: where it is listed, and ended. */
  kept(request: FastifyRequest): Html;
}

interface Leading {
  /** The answer was given beside the list. */
  readonly isInInbox?: boolean;
  /** The answer was access that later calls use as well. */
  readonly isKept?: boolean;
  /** It was no answer to keep: the person went back a page. */
  readonly isBack?: boolean;
  /** Others must accept before the task goes on. */
  readonly isStopped?: boolean;
}

export interface OnwardOptions {
  readonly services: Services;
  readonly addresses: PageAddresses;
  readonly signatures: Signatures;
}

export function createOnward({ services, addresses, signatures }: OnwardOptions): Onward {
  /** Only a server that took the answer may say so. */
  const textOf = (id: string, { tenant, principal }: Caller) => ["answered", tenant, principal, id].join("\n");

  function afterOf(answered: PageRef): Parameters {
    const id = idOf(answered);
    return [["after", `${id} ${signatures.sign(textOf(id, answered.caller))}`]];
  }

  /** What comes next may not be known, if Redis is away. The answer counts all the same, and the person hears that. */
  async function nextOf(ref: PageRef, waitMs: number): ReturnType<typeof nextAsk> {
    try {
      return await nextAsk(services, ref, waitMs);
    } catch (error) {
      if (error instanceof ParleyError) return undefined;
      throw error;
    }
  }

  function kept(request: FastifyRequest): Html {
    const { texts } = readerOf(request);
    const accounts = markup`<a href="${`${addresses.base()}${ACCOUNTS_PATH}`}">${texts.inbox.accounts}</a>`;
    return markup`<p class="quiet">${say(texts.grant.later, { accounts })}</p>`;
  }

  return {
    kept,

    async lead(reply, answered, { isInInbox = false, isKept = false, isBack = false, isStopped = false } = {}) {
      const next = await nextOf(answered, isStopped ? 0 : NEXT_WAIT_MS);
      if (!next) return undefined;
      const after: Parameters = isBack ? [] : [...afterOf(answered), ...(isKept ? [["kept", "yes"]] : [])];
      return reply.redirect(isInInbox ? inInbox(addresses, next, after) : pathAndQuery(addresses.urlOf(next.taskId, next.key), after), 303);
    },

    async link(request, ended, isAnswered) {
      const next = await nextOf(ended, isAnswered && request.method === "POST" ? NEXT_WAIT_MS : 0);
      if (!next) return undefined;
      const { texts } = readerOf(request);
      const href = pathAndQuery(addresses.urlOf(next.taskId, next.key), isAnswered ? afterOf(ended) : []);
      return markup`<p>${texts.onward.more}</p>
<p><a class="button main" href="${href}" data-next="${texts.onward.more}">${texts.onward.open}</a></p>`;
    },

    counted(request) {
      const { after, kept: isKept } = request.query as { readonly after?: unknown; readonly kept?: unknown };
      const [id = "", signature = ""] = typeof after === "string" ? after.split(" ") : [];
      const named = namedIn(id);
      if (!named || !signatures.verify(textOf(id, request.caller), signature)) return undefined;
      const { texts } = readerOf(request);
      const record = markup`<a href="${pathAndQuery(addresses.urlOf(named.taskId, named.key))}">${texts.onward.record}</a>`;
      return markup`<p class="quiet" role="status">${say(texts.onward.counted, { record })}</p>${isKept === "yes" ? kept(request) : undefined}`;
    },
  };
}

export interface Named {
  readonly taskId: string;
  readonly key: string;
}

function idOf({ taskId, key }: Named): string {
  return `${taskId}/${key}`;
}

/** `0-Yuag…/party-size`. Undefined for what names no question. */
export function namedIn(id: string): Named | undefined {
  const [, taskId, key] = /^([^/]{1,200})\/(.{1,1000})$/s.exec(id) ?? [];
  return taskId === undefined || key === undefined ? undefined : { taskId, key };
}

type Parameters = readonly (readonly string[])[];

/** Whether the form was shown beside the list. */
export function isInInbox(body: URLSearchParams): boolean {
  return body.get("back") === "inbox";
}

/** The address of the list with the question beside it. */
export function inInbox(addresses: PageAddresses, ask: Named, more: Parameters = []): string {
  return pathAndQuery(addresses.inbox(), [["ask", idOf(ask)], ...more]);
}

/** Without the origin: the page may be open at another name of this server than that of its public address. */
export function pathAndQuery(address: string, more: Parameters = []): string {
  const { pathname, searchParams } = new URL(address);
  for (const [name = "", value = ""] of more) searchParams.append(name, value);
  return searchParams.size === 0 ? pathname : `${pathname}?${searchParams.toString()}`;
}
