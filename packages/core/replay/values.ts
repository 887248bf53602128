/**
 * Checks the values that a handler hands over to be recorded or reported: plain data, of bounded size, without the token
 * of an event, and without a secret or an access token that the run has read.
 */
import { throughJson } from "../values/canonical-json.ts";
import { assertNotFarTooLong, tooLong } from "../task/stored-length.ts";
import { describeError, describeOrigin, errorText } from "../task/describe-error.ts";
import { kindOf, ParleyError, type RpcFailure } from "../errors.ts";
import { hasEventToken } from "../task/event-token.ts";
import type { Settings } from "../settings.ts";
import type { FeedItem, Json, Task } from "../task.ts";

/** `what` names the value in the error: `the result of step hold`. */
export interface Values {
  /** The value as the journal will return it. Throws NOT_SERIALIZABLE, EVENT_TOKEN_MISPLACED and TOO_LARGE. */
  checked(what: string, value: unknown): Json | undefined;
  /** Throws NOT_SERIALIZABLE and EVENT_TOKEN_MISPLACED. */
  assertNoSecret(what: string, text: string): void;
  /** Throws NOT_SERIALIZABLE and EVENT_TOKEN_MISPLACED. */
  assertNoSecretIn(item: FeedItem): void;
  /**
   * The error as it may be logged and recorded. With a secret in it, an error that its author wrote for callers becomes
   * NOT_SERIALIZABLE; any other has its text replaced.
   */
  withoutSecrets(what: string, error: unknown): unknown;
  /** The run gave out the token of an event. Texts are searched for tokens only from then on. */
  tokenGiven(): void;
  /** The run has read this secret or access token. */
  secretRead(text: string): void;
}

/** Shorter secrets occur in unrelated text. */
const TELLING_CHARS = 6;
/** A handler that reads secrets without end is searched for the last ones. Each renewed access token is one. */
const SECRETS_MAX = 100;

export function createValues({ id }: Task, { storedValueMax }: Pick<Settings, "storedValueMax">): Values {
  let hasTokens = false;
  /** As they are, and as JSON escapes them, without the quotes. */
  const secrets = new Set<string>();

  function hasSecret(text: string): boolean {
    return secrets.size > 0 && [...secrets].some((secret) => text.includes(secret));
  }

  function assertNoSecret(what: string, text: string): void {
    if (hasSecret(text)) throw secretIn(what);
    if (hasTokens && hasEventToken(id, text)) throw new ParleyError("EVENT_TOKEN_MISPLACED", `${what} holds the token of an event`);
  }

  return {
    checked(what, value) {
      let stored: ReturnType<typeof throughJson>;
      try {
        assertNotFarTooLong(what, value, storedValueMax);
        stored = throughJson(value);
      } catch (cause) {
        if (cause instanceof ParleyError && cause.code === "TOO_LARGE") throw cause;
        throw new ParleyError("NOT_SERIALIZABLE", `${what} is not plain data`, { cause });
      }
      assertNoSecret(what, stored.text);
      const { length } = stored.text;
      if (length > storedValueMax) throw tooLong(what, length, storedValueMax);
      return stored.value;
    },
    assertNoSecret,
    assertNoSecretIn(item) {
      // Only then is the item worth serializing.
      if (hasTokens || secrets.size > 0) assertNoSecret(`a ${item.type}`, JSON.stringify(item));
    },
    withoutSecrets(what, error) {
      if (secrets.size === 0 || !hasSecret(textsOf(error))) return error;
      const kind = kindOf(error);
      if (kind === "tool" || kind === "rpc" || kind === "parley") return secretIn(what);
      const { error: name, stack = [] } = describeOrigin(error);
      const text = "(the text holds a secret)";
      return Object.assign(new Error(text), { name, stack: [`${name}: ${text}`, ...stack.map((frame) => `    ${frame}`)].join("\n") });
    },
    tokenGiven: () => void (hasTokens = true),
    secretRead(text) {
      if (text.length < TELLING_CHARS) return;
      for (const form of [text, JSON.stringify(text).slice(1, -1)]) secrets.add(form);
      for (const oldest of secrets) if (secrets.size > SECRETS_MAX) secrets.delete(oldest);
    },
  };
}

/** Everything that callers and logs may show of it. */
function textsOf(error: unknown): string {
  const shown = JSON.stringify(describeError(error)) + errorText(error);
  try {
    return kindOf(error) === "rpc" ? shown + JSON.stringify((error as RpcFailure).data) : shown;
  } catch {
    return shown; // no caller sees data that is not JSON either
  }
}

function secretIn(what: string): ParleyError {
  return new ParleyError("NOT_SERIALIZABLE", `${what} holds a secret, which would be recorded or shown: leave it out`);
}
