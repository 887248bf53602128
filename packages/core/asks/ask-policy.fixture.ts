import { expect } from "vitest";
import { type AskSettings, checkAsk } from "./ask-policy.ts";
import { ParleyError } from "../errors.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { AskRequest, Audience, Violation } from "../task.ts";

/** The problems that a tool is told about a question; empty if the question may be asked. */
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
