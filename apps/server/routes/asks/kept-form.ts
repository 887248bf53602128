/**
 * A form without script that was not taken for now: its person's login has ended, they have sent too much, or something is away. No browser brings it
 * back, because pages are not stored, so the notice that says so has everything that was typed, and sends it again: after a login in another window, or in
 * a moment. The token of the form sees to it that this is the same person. Secrets are left out: they are shown on no page.
 */
import type { FastifyRequest } from "fastify";
import { readerOf } from "../../texts/texts.ts";
import { type Html, markup } from "./html.ts";

/** The form may come from anybody, and a field takes more room in the page than in the request. */
export const FIELDS_MAX = 1_000;

export interface KeepForm {
  readonly bytesMax: number;
  /** A page that leads to the login: that of the question is where its form is sent. */
  readonly page?: string;
  /** The person has to log in before it is sent again. */
  readonly needsLogin: boolean;
}

/** Undefined if there is no such form, or if it is larger than any. */
export async function keptForm(request: FastifyRequest, { bytesMax, page = "", needsLogin }: KeepForm): Promise<Html | undefined> {
  const { "content-type": type = "", "content-length": length = "" } = request.headers;
  // Browsers say how long a form is, and Node.js keeps them to it.
  if (!type.startsWith("application/x-www-form-urlencoded") || !/^\d+$/.test(length) || Number(length) > bytesMax) return undefined;
  const { body } = request;
  const typed = body instanceof URLSearchParams ? body : await bodyOf(request);
  if (!typed || typed.size > FIELDS_MAX || typed.has("secret") || !typed.has("token")) return undefined;
  const { kept } = readerOf(request).texts;
  const fields = [...typed].map(([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`);
  const login = needsLogin
    ? markup`<div class="actions"><a class="button main" href="${page}" target="_blank">${kept.logIn}</a></div>`
    : undefined;
  return markup`${login}
<form method="post" class="flow">${fields}<button>${kept.send}</button></form>`;
}

async function bodyOf({ raw }: FastifyRequest): Promise<URLSearchParams | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of raw as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch {
    // The person has left.
    return undefined;
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
