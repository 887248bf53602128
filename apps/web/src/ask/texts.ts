/** What the view says. English: hosts tell a locale, which moments are shown in. */
import type { Became } from "./waiting.ts";

export const TEXTS = {
  asks: (called: string) => `${called} asks`,
  until: (moment: string) => `Open until ${moment}.`,
  askedOf: (names: string) => `Asked of ${names}.`,
  send: "Answer",
  decline: "Decline",
  back: "Back",
  openPage: "Open the page of this question",
  openThis: "Open this address in a browser:",
  onPage: "This question is answered on its page.",
  inInbox: "This question is answered in the inbox, at the address that the server printed.",
  fix: "Not accepted. See what is wrong below its field.",
  notSent: "It is not known whether the answer arrived. Answer again.",
  answered: (question: string) => `Answered: ${question}`,
  declined: (question: string) => `Declined: ${question}`,
  gone: (question: string) => `No longer open: ${question}`,
  more: (count: number) => `${count} more ${count === 1 ? "question is" : "questions are"} open.`,
  working: (called: string) => `${called} continues.`,
  done: (called: string) => `${called} has finished.`,
  failed: (called: string) => `${called} has ended with an error.`,
  notFollowed: "This view no longer follows the task.",
  look: "Look again",
  noHost: "This page belongs to a chat: it shows questions only there.",
  /** For the model. */
  context: (called: string, taskId: string) =>
    `The user has answered a question of ${called} in its view. Do not ask it again. The result comes with taskId ${JSON.stringify(taskId)}.`,
  /** As the user's message. */
  message: (called: string, taskId: string, wait: string | undefined) =>
    wait === undefined
      ? `I have answered what ${called} asked.`
      : `I have answered what ${called} asked. Get its result: call ${wait} with taskId ${JSON.stringify(taskId)}.`,
  refused({ receipt, end }: Became, when: (iso: string) => string): string {
    if (receipt !== "late") {
      return receipt === "unknown" ? "This question is no longer open." : "This question is answered on its page only.";
    }
    const at = end?.at === undefined ? "" : ` (${when(end.at)})`;
    if (end?.end === "timed_out") return `Too late: the time of the question was over${at}.`;
    if (!end?.by) return `Too late: the question is no longer open${at}.`;
    return end.by.isCaller ? `Too late: you have answered this elsewhere${at}.` : `Too late: ${end.by.name} was first${at}.`;
  },
};
