/**
 * Checks one ask's history against the model of a register that is written once: the first answer wins, and everybody is told so.
 *
 *   answer(v) on an empty register    writes v and says `accepted`
 *   answer(v) on one that holds v     says `duplicate`: the sender's own request, done twice behind its back
 *   answer(v) on one that holds other says `late`
 *   look                              says what the register holds
 *
 * A history is linearizable when every operation can be given one moment between its beginning and its end so that the model, run in the
 * order of these moments, says what was said. The register changes once, at one moment p, so that is all there is to find: a winner, and
 * a p within its time which is no later than the end of any operation that saw the register full, and no earlier than the beginning of any
 * that saw it empty. An operation whose end nobody saw (its front end died) may have taken effect at any time after its beginning, or never.
 *
 * Source: Herlihy and Wing, Linearizability, 1990; the reduction is that of a write-once register.
 */

export interface Operation {
  readonly type: "answer" | "look";
  readonly beganAtMs: number;
  /** Infinity when no reply came. */
  readonly endedAtMs: number;
  /** What an answer brings, its sender's alone; what a look found: undefined for nothing. */
  readonly value: string | undefined;
  /** Of an answer; undefined when no reply came. Looks have none. */
  readonly receipt?: "accepted" | "duplicate" | "late" | undefined;
}

/** Undefined when the history is linearizable, else why it is not. */
export function violation(history: readonly Operation[]): string | undefined {
  const answers = history.filter(({ type }) => type === "answer");
  const looks = history.filter(({ type, endedAtMs }) => type === "look" && endedAtMs !== Infinity);
  const sawEmpty = looks.filter(({ value }) => value === undefined);
  const sawFull = [...looks.filter(({ value }) => value !== undefined), ...answers.filter(({ receipt }) => receipt === "late")];

  const won = answers.filter(({ receipt }) => receipt === "accepted" || receipt === "duplicate");
  if (won.length > 1) return `${won.length} answers won: ${won.map(({ value }) => value).join(", ")}`;
  if (won.length === 0 && sawFull.length === 0) return undefined;

  const seen = new Set(looks.flatMap(({ value }) => value ?? []));
  if (seen.size > 1) return `the register held ${[...seen].join(" and ")}`;
  const candidates = won.length === 1 ? won : answers.filter(({ receipt }) => receipt === undefined);
  const fitting = candidates.filter(({ value }) => seen.size === 0 || seen.has(value ?? ""));
  if (fitting.length === 0) return `nobody can have won: told ${won[0]?.value ?? "nobody"}, seen ${[...seen].join() || "nothing"}`;

  const notBefore = Math.max(-Infinity, ...sawEmpty.map(({ beganAtMs }) => beganAtMs));
  const notAfter = Math.min(Infinity, ...sawFull.map(({ endedAtMs }) => endedAtMs));
  const possible = fitting.some(({ beganAtMs, endedAtMs }) => Math.max(notBefore, beganAtMs) <= Math.min(notAfter, endedAtMs));
  return possible ? undefined : `no moment fits: seen empty at ${notBefore}, full by ${notAfter}, and ${fitting.length} could have won`;
}
