import { expect } from "vitest";
import { type AskSettings, checkAsk } from "./ask-policy.ts";
import { ParleyError } from "./errors.ts";
import { DEFAULT_SETTINGS } from "./settings.ts";
import type { AskRequest, Audience, Violation } from "./task.ts";

/** What is wrong with a question, as its tool is told; empty for one that may be put. */
export function problems(request: AskRequest, settings: Partial<AskSettings> = {}, audience?: Audience): readonly Violation[] {
  try {
    checkAsk("question", { request, ...(audience && { audience }) }, { ...DEFAULT_SETTINGS, ...settings });
    return [];
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "INVALID_ASK") throw error;
    expect(error.message).toMatch(/^the ask "question" is invalid: \//);
    return error.violations ?? [];
  }
}
