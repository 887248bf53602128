/**
 * PARLEY_SECRET is replaced while front ends and workers restart one after another: processes of neighbouring steps open what the others
 * sealed.
 */
import { depositSeal } from "@parley/node";
import { describe, expect, test } from "vitest";
import { eventIds } from "../routes/mcp/sessions/event-ids.ts";
import { type RequestState, requestStates } from "./request-state.ts";
import { signatures } from "./signatures.ts";
import { stateKeys } from "./state-keys.ts";

const [old, fresh] = ["an old secret of thirty-two characters", "a new secret of thirty-two characters"];
const STEPS = [[old], [old, fresh], [fresh, old], [fresh]];

const bound = { principal: "ann", kind: "tool", name: "book", argumentsDigest: "digest" } as const;
const state: RequestState = { ...bound, taskId: "0-a", asked: ["who"], deadlineMs: 1, expiresAtMs: 2 };

/** What a process with the secrets `theirs` can open of what a process with `ours` has sealed. */
async function opened(ours: readonly string[], theirs: readonly string[]) {
  const [here, there] = [stateKeys(ours), stateKeys(theirs)];
  const eventId = eventIds(signatures(here)).write("session", { stream: "standalone", event: 7 });
  const deposit = depositSeal(ours).seal("0-a", "page", "hunter2");
  const sealed = await requestStates(here).seal(state);
  const depositIn = (secrets: readonly string[]) => {
    try {
      return depositSeal(secrets).open("0-a", "page", deposit);
    } catch {
      return undefined;
    }
  };
  return {
    requestState: await requestStates(there)
      .open(sealed, bound, 0)
      .catch(() => undefined),
    eventId: eventIds(signatures(there)).read("session", eventId ?? ""),
    deposit: depositIn(theirs),
  };
}

const everything = { requestState: state, eventId: { stream: "standalone", event: 7 }, deposit: "hunter2" };
const nothing = { requestState: undefined, eventId: undefined, deposit: undefined };

describe("a secret that is replaced", () => {
  test("in three steps keeps everything readable: each step and the one before open what the other sealed", async () => {
    for (const [index, later] of STEPS.entries()) {
      const earlier = STEPS[Math.max(0, index - 1)]!;
      expect(await opened(earlier, later)).toEqual(everything);
      expect(await opened(later, earlier)).toEqual(everything);
    }
  });

  test("in one step is unknown to processes that have not been restarted yet", async () => {
    expect(await opened([fresh, old], [old])).toEqual(nothing);
  });
});
