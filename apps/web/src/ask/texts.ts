/** What the view says, in the language of the host's locale. */
import * as de from "../../texts/de.ts";
import * as en from "../../texts/en.ts";
import { filled } from "../../texts/words.ts";
import { languageNow } from "../language.ts";
import type { Became } from "./waiting.ts";

export function texts(): typeof en.VIEW {
  return { en: en.VIEW, de: de.VIEW }[languageNow()];
}

/** What became of an answer that does not count. */
export function refusal({ receipt, end }: Became, when: (iso: string) => string): string {
  const words = texts();
  if (receipt !== "late") return receipt === "unknown" ? words.notOpen : words.onPageOnly;
  const at = end?.at === undefined ? undefined : when(end.at);
  const timed = (without: string, withTime: string, name = "") => filled(at === undefined ? without : withTime, { when: at ?? "", name });
  if (end?.end === "timed_out") return timed(words.timedOut, words.timedOutAt);
  if (!end?.by) return timed(words.closed, words.closedAt);
  return end.by.isCaller ? timed(words.byYou, words.byYouAt) : timed(words.byOther, words.byOtherAt, end.by.name);
}

/** For the model, which reads English. */
export function contextText(called: string, taskId: string): string {
  return `The user has answered a question of ${called} in its view. Do not ask it again. The result comes with taskId ${JSON.stringify(taskId)}.`;
}

/** In the name of the person, who sees it in the chat. */
export function messageText(tool: string, taskId: string, wait: string | undefined): string {
  const { message, messageWait } = texts();
  return wait === undefined ? filled(message, { tool }) : filled(messageWait, { tool, wait, task: JSON.stringify(taskId) });
}
