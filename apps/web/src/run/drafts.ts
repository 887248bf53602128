/**
 * Unsent answers, and arguments of calls that were not made, in the storage of this tab: they survive postponing the question, choosing another tool and
 * reloading the page. A draft is deleted when the question is answered, here or elsewhere, when the call is made or ends, at a logout, and when the token becomes another
 * person's. Secrets are never kept.
 */
import type { Draft, Input } from "../../form/inputs.ts";
import { type Asked, sameQuestion } from "../mcp/shared.ts";

const DRAFTS = "parley.drafts";
export const DRAFTS_MAX = 20;
/** For all drafts together. */
export const DRAFT_CHARS_MAX = 200_000;

/** By call and question; the last one changed is at the end. */
export type Drafts = readonly (readonly [key: string, draft: Draft])[];

/** `place` is the task, or the tool for a call without a task. */
export function keptDraft(place: string, question: Asked): Draft {
  const key = keyOf(place, question);
  return kept().find(([each]) => each === key)?.[1] ?? {};
}

export function keepDraft(
  place: string,
  question: Asked,
  { draft, inputs }: { readonly draft: Draft; readonly inputs: readonly Input[] },
): void {
  keep(withDraft(kept(), keyOf(place, question), withoutSecrets(draft, inputs)));
}

export function forgetDraft(place: string, question: Asked): void {
  const key = keyOf(place, question);
  keep(kept().filter(([each]) => each !== key));
}

/** Deletes all drafts of a call, or all drafts if there is no argument. */
export function forgetDrafts(place?: string): void {
  keep(place === undefined ? [] : kept().filter(([key]) => !key.startsWith(`${place} `)));
}

/** Drops the oldest drafts beyond the limits. A draft that exceeds them by itself is not kept. */
export function withDraft(drafts: Drafts, key: string, draft: Draft): Drafts {
  let all: Drafts = [...drafts.filter(([each]) => each !== key), [key, draft] as const].slice(-DRAFTS_MAX);
  while (all.length > 0 && JSON.stringify(all).length > DRAFT_CHARS_MAX) all = all.slice(1);
  return all;
}

export function withoutSecrets(draft: Draft, inputs: readonly Input[]): Draft {
  const secret = new Set(
    inputs.flatMap(({ name, schema }) => (schema["format"] === "password" || schema["writeOnly"] === true ? [name] : [])),
  );
  return Object.fromEntries(Object.entries(draft).filter(([name]) => !secret.has(name)));
}

function kept(): Drafts {
  return JSON.parse(sessionStorage.getItem(DRAFTS) ?? "[]") as Drafts;
}

function keep(drafts: Drafts): void {
  if (drafts.length === 0) return sessionStorage.removeItem(DRAFTS);
  try {
    sessionStorage.setItem(DRAFTS, JSON.stringify(drafts));
  } catch {
    // The storage is full: the drafts do not survive a reload.
    sessionStorage.removeItem(DRAFTS);
  }
}

/** A question has another id after a reload, but the same text and fields. They may be long, so the key contains their hash (FNV-1a). */
function keyOf(place: string, question: Asked): string {
  const text = sameQuestion(question);
  let hash = 0x81_1c_9d_c5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93);
  return `${place} ${text.length} ${hash >>> 0}`;
}
