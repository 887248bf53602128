/**
 * Checks the history of one ask against the model of a write-once register: the first answer wins, and everyone is told so.
 *
 *   answer(v) on an empty register      writes v and returns `accepted`
 *   answer(v) on one that holds v       returns `duplicate`: the sender's own request took effect twice
 *   answer(v) on one that holds another returns `late`
 *   look                                returns what the register holds
 *
 * A history is linearizable if every operation can be assigned one moment between its beginning and its end, so that the model, run in the
 * order of these moments, returns what was returned. The register changes once, at one moment p. The check therefore looks for a winner,
 * and for a p within the winner's time that is no later than the end of any operation that saw the register full, and no earlier than the
 * beginning of any that saw it empty. An operation without a known end (its front end died) may have taken effect at any time after its
 * beginning, or never.
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
