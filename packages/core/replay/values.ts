/** Checks the values that a handler hands over to be recorded or reported: plain data, of bounded size, without the token of an event. */
import { throughJson } from "../canonical-json.ts";
import { ParleyError } from "../errors.ts";
import { hasEventToken } from "../event-token.ts";
import type { Settings } from "../settings.ts";
import type { FeedItem, Json, Task } from "../task.ts";

/** `what` names the value in the error: `the result of step hold`. */
export interface Values {
  /** The value as the journal will return it. Throws NOT_SERIALIZABLE, EVENT_TOKEN_MISPLACED and TOO_LARGE. */
  checked(what: string, value: unknown): Json | undefined;
  /** Throws EVENT_TOKEN_MISPLACED. */
  assertNoToken(what: string, text: string): void;
  /** Throws EVENT_TOKEN_MISPLACED. */
  assertNoTokenIn(item: FeedItem): void;
  /** The run gave out the token of an event. Texts are searched for tokens only from then on. */
  tokenGiven(): void;
}

export function createValues({ id }: Task, { storedValueMax }: Pick<Settings, "storedValueMax">): Values {
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
      // Only then is the item worth serializing.
      if (hasTokens) assertNoToken(`a ${item.type}`, JSON.stringify(item));
    },
    tokenGiven: () => void (hasTokens = true),
  };
}
