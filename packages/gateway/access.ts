/**
 * Access to an upstream in the caller's name: an access token of their own, which they grant on a page of Parley's (docs/pages.md), before the call.
 *
 *   ask ─▶ granted ─▶ a token for each request, renewed when it is about to end, or was refused
 *                         └▶ cannot be renewed ─▶ ask again, a few times
 *
 * The token that the caller sent to Parley goes to no upstream. What was granted is kept with the task, sealed, and ends with it; a token is in no
 * journal, log or error.
 */
import { type Answer, type Effects, ParleyError, ToolError } from "@parley/core";
import type { UpstreamOauth } from "./upstreams.ts";

export interface Access {
  /** Asks the caller. Resolves when they have granted it. Throws ToolError when they have not, ParleyErrors CAPABILITY_REQUIRED and GRANT_EXPIRED. */
  ask(): Promise<void>;
  /** For a step: a token that is good now. Undefined: what was granted has ended. Throws PROVIDER_UNAVAILABLE and PROVIDER_INVALID. */
  token(): Promise<string | undefined>;
  /** The upstream refused the last token. Resolves when another one can be tried. Throws as `ask`. */
  refused(): Promise<void>;
}

export interface AccessOptions {
  readonly oauth: UpstreamOauth;
  /** What is called, for people: `tool search of upstream crm`. */
  readonly what: string;
  readonly timeoutMs: number;
}

/** How often one task asks: a provider whose tokens end at once would ask for ever. */
const ASKS_MAX = 3;

export function createAccess(effects: Effects, { oauth, what, timeoutMs }: AccessOptions): Access {
  const { accessToken } = effects;
  let key = "";
  let last: string | undefined;
  let isRefused = false;
  let asks = 0;
  let refusals = 0;

  async function ask(): Promise<void> {
    if (!accessToken) throw new ParleyError("OAUTH_UNAVAILABLE", `${what} needs access at ${oauth.provider}, and PARLEY_OAUTH is not set`);
    if (asks === ASKS_MAX)
      throw new ParleyError("GRANT_EXPIRED", `${what}: access was granted ${ASKS_MAX} times, and ended or was refused each time`);
    asks += 1;
    isRefused = false;
    const message = `The ${what} works with your own account at ${oauth.provider}. Log in there and allow it.`;
    const answer = await effects.ask("authorize", { type: "url", message, url: "", page: { kind: "oauth", ...oauth } }, { timeoutMs });
    key = depositOf(answer, what);
  }

  return {
    ask,
    async token() {
      try {
        const refused = isRefused ? last : undefined;
        // The next one is good until it is refused itself.
        isRefused = false;
        last = await accessToken?.(key, refused);
        return last;
      } catch (error) {
        if (error instanceof ParleyError && error.code === "GRANT_EXPIRED") return undefined;
        throw error;
      }
    },
    async refused() {
      refusals += 1;
      // Once it may be old. Twice it may be revoked, or of an account that may do nothing there.
      if (refusals % 2 === 0) await ask();
      else isRefused = true;
    },
  };
}

function depositOf(answer: Answer, what: string): string {
  if (answer.action === "unavailable") {
    const message = `The ${what} sends the user to a page, and this client cannot be asked that. Call it from a client that declares the capability elicitation.url and accepts event streams.`;
    throw new ParleyError("CAPABILITY_REQUIRED", message, { data: { requiredCapabilities: { elicitation: { url: {} } } } });
  }
  const deposit = answer.action === "accept" ? answer.content?.["deposit"] : undefined;
  if (typeof deposit === "string") return deposit;
  throw new ToolError(`The ${what} was not called: access was not granted (${answer.action}).`);
}
