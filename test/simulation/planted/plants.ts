/** Ways to break core, each with the rules that must detect it. Code that changes under one of them has to be changed here, too. */
import type { Rule } from "../rules.ts";

export interface Plant {
  readonly name: string;
  /** The number of the finding, if Parley once behaved like this. */
  readonly finding?: number;
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** At least one of these rules must be violated. */
  readonly breaks: readonly Rule[];
}

export const PLANTS: readonly Plant[] = [
  {
    name: "no sweep: overdue tasks stay overdue",
    file: "packages/core/use-cases/sweep.ts",
    find: "queue.add(",
    replace: "(async (_run: unknown) => undefined)(",
    breaks: ["end"],
  },
  {
    name: "answer without claim: an answered ask can be answered again",
    file: "packages/core/memory/store.ts",
    find: 'applyEvent(task, { type: "answered", key }); // I2',
    replace: "// I2",
    breaks: ["answer"],
  },
  {
    name: "a person who must accept counts twice",
    file: "packages/core/callers/quorum.ts",
    find: "[...before.filter((each) => each !== mine), acceptance]",
    replace: "[...before, acceptance]",
    breaks: ["answer"],
  },
  {
    name: "an event opens when its run parks, not before a step can pass on its address",
    file: "packages/core/replay/waits.ts",
    find: "const events = [...unwritten].flatMap((id) => asks.get(id) ?? []);",
    replace: "const events: Open[] = [];",
    breaks: ["shown"],
  },
  {
    name: "a step in flight at a cancellation is not recorded, and so not undone",
    file: "packages/core/memory/store.ts",
    find: "        // I1: the finished work is recorded, and nothing that clients see changes.\n        write(task, entries, nowMs);\n",
    replace: "",
    breaks: ["undone"],
  },
  {
    name: "a compensation begins while the cancelled run is still at work",
    file: "packages/core/memory/store.ts",
    find: 'const isStopping = status === "cancelled" && task.openRun !== undefined;',
    replace: "const isStopping = false;",
    breaks: ["undone", "displaced"],
  },
  {
    name: "a task that fails is not compensated",
    file: "packages/core/use-cases/finish-task.ts",
    find: "  if (!call.compensates) return undefined;\n",
    replace: "  if (call.compensates || !call.compensates) return undefined;\n",
    breaks: ["undone"],
  },
  {
    name: "a child's end answers another call of its parent",
    file: "packages/core/memory/store.ts",
    find: "({ digest }) => digest === id);\n    if (!parent || !open) return undefined;",
    replace: '({ request }) => request.type === "call");\n    if (!parent || !open) return undefined;',
    breaks: ["mix-up", "answer"],
  },
  {
    name: "a call that is repeated after a crash creates another child",
    file: "packages/core/replay/child-id.ts",
    find: "canonicalJson({ parent: id, key, tool: call.tool, arguments: call.arguments })",
    replace: "canonicalJson({ parent: id, key, tool: call.tool, arguments: call.arguments, at: Math.random() })",
    breaks: ["key", "answer", "failure"],
  },
  {
    name: "of several questions that are asked together, only the first is shown",
    file: "packages/core/memory/store.ts",
    find: "of asks.entries()) {",
    replace: "of asks.slice(0, 1).entries()) {",
    breaks: ["shown"],
  },
  {
    name: "a question that is answered while its run parks is asked again",
    file: "packages/core/memory/store.ts",
    find: 'if (task.journal.has(entryKey("ask", ask.key)) || ',
    replace: "if (",
    breaks: ["answer", "end"],
  },
  {
    name: "a failure that no code has awaited yet ends the process",
    finding: 1,
    file: "packages/core/replay/flow.ts",
    find: "  return scoped instanceof Flow ? scoped.strays : undefined;\n",
    replace: "  return undefined;\n",
    breaks: ["unhandled"],
  },
  {
    name: "recorded effects settle in another order than before (and 15)",
    finding: 2,
    file: "packages/core/replay/recorded-calls.ts",
    find: "  arrived.sort(byArrival);\n",
    replace: "  arrived.sort(byArrival);\n  settled.sort((a, b) => (a.id < b.id ? -1 : 1));\n",
    breaks: ["mix-up", "key", "order"],
  },
  {
    name: "a sleep that is over settles as soon as it is called again",
    finding: 3,
    file: "packages/core/replay/waits.ts",
    find: "      if (entry?.place !== undefined || isWithdrawn) return;\n",
    replace:
      "      if (entry?.place !== undefined && wakeAtMs <= clock.now()) resolve();\n" +
      "      if (entry?.place !== undefined || isWithdrawn) return;\n",
    breaks: ["order", "equal", "mix-up", "failure"],
  },
  {
    name: "answers settle in the order of the calls instead of their arrival",
    finding: 4,
    file: "packages/core/replay/recorded-calls.ts",
    find: "    if (entry.place !== undefined) settled[entry.place - 1] = { id, entry };\n    else if (entry.arrived) arrived.push({ id, entry });\n",
    replace:
      '    if (entry.place !== undefined && entry.outcome.type !== "answer") settled.push({ id, entry });\n' +
      "    else if (entry.place !== undefined) settled.unshift({ id, entry });\n" +
      "    else if (entry.arrived) arrived.push({ id, entry });\n",
    breaks: ["order", "failure", "mix-up", "key"],
  },
  {
    name: "a clock reading is written with the step that used it, not before",
    finding: 5,
    file: "packages/core/replay/effects.ts",
    find: '    records.note({ key: id, entry: { digest: "", calledAt, outcome: { type: "value", value } } });\n    records.mustBeSaved();\n',
    replace: '    records.note({ key: id, entry: { digest: "", calledAt, outcome: { type: "value", value } } });\n',
    breaks: ["input"],
  },
  {
    name: "what a schema drew is written with the step that was given it, and not before",
    file: "packages/core/replay/effects.ts",
    find: "        if (isDrawn) records.mustBeSaved();\n",
    replace: "",
    breaks: ["input", "order"],
  },
  {
    name: "what a schema drew is not kept",
    file: "packages/core/replay/effects.ts",
    find: '        records.note({ key, entry: { digest: "", calledAt: "0", outcome: { type: "value", value } } });\n',
    replace: "",
    breaks: ["order", "failure"],
  },
  {
    name: "a run ends while its steps are at work",
    finding: 6,
    file: "packages/core/replay.ts",
    find: "    await sideEffects.landed(signal);\n",
    replace: "",
    breaks: ["leftover", "beside"],
  },
  {
    name: "calls after an await of something outside ctx are not waited for",
    finding: 7,
    file: "packages/core/replay/at-rest.ts",
    find: "      if (!isOpenEnded && (isInsideTooLong || isStuckTooLong)) {\n",
    replace: "      if (nowMs - stuckAtMs >= 1_000) {\n",
    breaks: ["failure"],
  },
  {
    name: "a handler may return over recorded work",
    finding: 8,
    file: "packages/core/replay.ts",
    find: '    divergence.noteNew("the end of the handler");\n    touched();\n    await settling.live;\n    // Node.js reports',
    replace: "    // Node.js reports",
    breaks: ["skipped"],
  },
  {
    name: "a call is opened before the settlements that led to it are written",
    file: "packages/core/replay/side-effects.ts",
    find: "    records.mustBeSavedIfNoted();\n",
    replace: "",
    breaks: ["failure"],
  },
  {
    name: "a stopped run leaves results without the settlements that led to them",
    file: "packages/core/replay.ts",
    find: "entries: [...end.entries, ...noted(), ...left]",
    replace: "entries: [...end.entries, ...left]",
    breaks: ["failure"],
  },
  {
    name: "a live holder is displaced",
    finding: 12,
    file: "packages/core/memory/store.ts",
    find: 'return { type: "refused", reason: "held" };',
    replace: "void 0;",
    breaks: ["displaced", "beside"],
  },
  {
    name: "the order of answers is written with the step that follows from it, not before",
    file: "packages/core/replay/settling.ts",
    find: "      if (waiting.size > 1 || mayCallMeanwhile()) records.mustBeSaved(); // S4\n",
    replace: "",
    breaks: ["order", "input", "key"],
  },
];
