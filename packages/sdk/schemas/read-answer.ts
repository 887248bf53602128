/**
 * What an author's schema makes of an answer, the same in every run: what it draws is kept with the answer (kept-arguments.ts). A schema that
 * leaves the answer as it is has nothing kept.
 */
import type { Acceptance, Json, Reading } from "@parley/core";
import { keptAnswer } from "./kept-arguments.ts";
import { check, type Checked, type OutputOf, type Schema } from "./schema.ts";

export async function readAnswer<S extends Schema>(schema: S, given: Json | undefined, reading: Reading): Promise<Checked<OutputOf<S>>> {
  if (reading.kept !== undefined) {
    const again = await check(schema, reading.kept);
    // Changed code may refuse what the schema made before, and still accept what the person gave.
    if (again.ok) return again;
  }
  const read = await check(schema, given);
  const kept = read.ok && given !== undefined ? await keptAnswer(schema, given, read.value) : undefined;
  if (kept) reading.keep(kept.content, kept.isDrawn);
  return read;
}

/** Of each person who accepted. */
export async function readAnswers<S extends Schema>(
  schema: S,
  accepted: readonly Acceptance[],
  reading: Reading,
): Promise<readonly Checked<OutputOf<S>>[]> {
  const checkEach = async (contents: readonly Json[]) => await Promise.all(contents.map((content) => check(schema, content)));
  if (Array.isArray(reading.kept)) {
    const again = await checkEach(reading.kept);
    if (again.every(({ ok }) => ok)) return again;
  }
  const given = accepted.map(({ content }) => content);
  const all = await checkEach(given);
  if (!all.every(({ ok }) => ok)) return all;
  const kept = await Promise.all(
    all.map(async (read, index) => (read.ok ? await keptAnswer(schema, given[index] ?? null, read.value) : undefined)),
  );
  if (kept.some((each) => each !== undefined)) {
    reading.keep(
      kept.map((each, index) => each?.content ?? given[index] ?? null),
      kept.some((each) => each?.isDrawn === true),
    );
  }
  return all;
}
