/**
 * What every dialect must achieve: a tool, what the person does with each of its questions, and the end state that must then be stored,
 * in every dialect.
 */

export type Reply =
  | { readonly action: "accept"; readonly content: Readonly<Record<string, string | number | boolean | string[]>> }
  /** Of a page to visit. */
  | { readonly action: "accept"; readonly content?: never }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** What is stored of a task when all is over. */
export interface EndState {
  readonly status: string;
  /** Absent when the task was cancelled. */
  readonly outcome?: { readonly text: string; readonly isError: boolean };
  /** By the key of the question: what was recorded. */
  readonly answers: Readonly<Record<string, { readonly type: string; readonly answer?: object }>>;
  readonly openAsks: readonly string[];
}

export interface Scenario {
  readonly tool: string;
  /** By question, as it is worded: what is answered the first time that it is put, the second time, and ever after. */
  readonly replies: Readonly<Record<string, readonly Reply[]>>;
  /** `late`: nothing is answered before the question is closed. `cancel`: the client gives the call up. `leave`: it is gone for a while. */
  readonly meanwhile?: "late" | "cancel" | "leave";
  readonly end: EndState;
}

const accept = (content: Readonly<Record<string, string | boolean>>): Reply => ({ action: "accept", content });
const ann = accept({ name: "Ann" });
const answered = (answer: object) => ({ type: "answer", answer });
const completed = (text: string, isError = false) => ({ status: "completed", outcome: { text, isError }, openAsks: [] });

export const SCENARIOS = {
  "one question": {
    tool: "greet",
    replies: { "Who are you?": [ann] },
    end: { ...completed("Hello, Ann!"), answers: { who: answered(ann) } },
  },
  "parallel questions": {
    tool: "approve",
    replies: { "Does operations agree?": [accept({ ok: true })], "Does legal agree?": [accept({ ok: false })] },
    end: {
      ...completed("operations true, legal false"),
      answers: { operations: answered(accept({ ok: true })), legal: answered(accept({ ok: false })) },
    },
  },
  "several rounds": {
    tool: "interview",
    replies: { "Member 1?": [ann], "Member 2?": [accept({ name: "Bob" })], "Member 3?": [accept({ name: "Cy" })] },
    end: {
      ...completed("Ann and Bob and Cy"),
      answers: {
        member: answered(ann),
        "member#2": answered(accept({ name: "Bob" })),
        "member#3": answered(accept({ name: "Cy" })),
      },
    },
  },
  decline: {
    tool: "greet",
    replies: { "Who are you?": [{ action: "decline" }] },
    end: {
      ...completed('The user declined to answer "who". The tool stopped there.', true),
      answers: { who: answered({ action: "decline" }) },
    },
  },
  "cancel of the question": {
    tool: "greet",
    replies: { "Who are you?": [{ action: "cancel" }] },
    end: {
      ...completed('The user dismissed the question "who" without answering. The tool stopped there.', true),
      answers: { who: answered({ action: "cancel" }) },
    },
  },
  timeout: {
    tool: "hurry",
    meanwhile: "late",
    replies: { "Who is quick?": [ann] },
    end: {
      ...completed('The question "quick" was not answered in time. The tool stopped there.', true),
      answers: { quick: answered({ action: "timeout" }) },
    },
  },
  "timeout with a default": {
    tool: "assume",
    meanwhile: "late",
    replies: { "Who shall it be?": [ann] },
    end: { ...completed("It is Nobody"), answers: { guess: answered({ action: "timeout" }) } },
  },
  "invalid, then valid": {
    tool: "greet",
    replies: { "Who are you?": [accept({ name: "" }), ann] },
    end: { ...completed("Hello, Ann!"), answers: { who: answered(ann) } },
  },
  "tool error": {
    tool: "fail",
    replies: { "Who shall fail?": [ann] },
    end: { ...completed("The ovens are cold.", true), answers: { who: answered(ann) } },
  },
  "call cancelled": {
    tool: "greet",
    meanwhile: "cancel",
    replies: { "Who are you?": [ann] },
    end: { status: "cancelled", answers: { who: { type: "closed" } }, openAsks: [] },
  },
  "gone and back": {
    tool: "greet",
    meanwhile: "leave",
    replies: { "Who are you?": [ann] },
    end: { ...completed("Hello, Ann!"), answers: { who: answered(ann) } },
  },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;
export const SCENARIO_NAMES = Object.keys(SCENARIOS) as ScenarioName[];
