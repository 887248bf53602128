/** What a handler hands over to be recorded or told: plain data, of a bounded size, without the token of an event. */
import { throughJson } from "../canonical-json.ts";
import { ParleyError } from "../errors.ts";
import { hasEventToken } from "../event-token.ts";
import type { Settings } from "../settings.ts";
import type { FeedItem, Json, Task } from "../task.ts";

export interface Values {
  /** The value as it comes back from the journal. Throws ParleyErrors NOT_SERIALIZABLE, EVENT_TOKEN_MISPLACED and TOO_LARGE. */
  checked(what: string, value: unknown): Json | undefined;
  /** Throws ParleyError EVENT_TOKEN_MISPLACED. */
  assertNoToken(what: string, text: string): void;
  /** The same of a whole item. */
  assertNoTokenIn(item: FeedItem): void;
  /** From now on tokens are looked for: one was given out. */
  tokenGiven(): void;
}

export function createValues({ id }: Task, { storedValueMax }: Pick<Settings, "storedValueMax">): Values {
  /** Whether this run has given out tokens, which stand in nothing that is recorded or told. */
  let hasTokens = false;

  function assertNoToken(what: string, text: string): void {
    if (!hasTokens || !hasEventToken(id, text)) return;
    throw new ParleyError("EVENT_TOKEN_MISPLACED", `${what} holds the token of an event`);
  }

  return {
    checked(what, value) {
      let stored: ReturnType<typeof throughJson>;
      try {
        stored = throughJson(value);
      } catch (cause) {
        throw new ParleyError("NOT_SERIALIZABLE", `${what} is not plain data`, { cause });
      }
      assertNoToken(what, stored.text);
      const { length } = stored.text;
      if (length > storedValueMax) {
        throw new ParleyError(
          "TOO_LARGE",
          `${what} has ${length} characters of JSON; the limit is ${storedValueMax} (PARLEY_STORED_VALUE_MAX)`,
        );
      }
      return stored.value;
    },
    assertNoToken,
    assertNoTokenIn(item) {
      if (hasTokens) assertNoToken(`a ${item.type}`, JSON.stringify(item));
    },
    tokenGiven: () => void (hasTokens = true),
  };
}
