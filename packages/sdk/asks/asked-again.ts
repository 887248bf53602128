/**
 * A form that is asked again, because the author's schema refused an answer that the form allowed: the same form, filled
 * in with the answer, with each problem at its field.
 *
 *   { from: "2026-12-24", to: "2026-12-20" }  refused by a refinement of `to`
 *     → the form with both dates as defaults; its message ends with the problem; hints.problems = { to: "…" }
 */
import { ASKED_AGAIN, type AskRequest, describeProblems, describeViolations, fieldAt, type JsonObject, type Violation } from "@parley/core";

export type FormRequest = Extract<AskRequest, { type: "form" }>;

/** A form that is shown with an answer that was given before: what that left empty is empty, whatever the author's default. */
export function filledInWith(asked: FormRequest, content: JsonObject): FormRequest {
  const fields = Object.entries((asked.schema["properties"] ?? {}) as Record<string, JsonObject>);
  const properties = fields.map(([name, { default: _default, ...field }]) => [
    name,
    Object.hasOwn(content, name) ? { ...field, default: content[name] } : field,
  ]);
  return { ...asked, schema: { ...asked.schema, properties: Object.fromEntries(properties) as JsonObject } };
}

interface Refused {
  /** Empty if several people answered. */
  readonly content: JsonObject | undefined;
  readonly violations: readonly Violation[];
}

export function askedAgain(asked: FormRequest, { content = {}, violations }: Refused): FormRequest {
  const { properties } = asked.schema;
  const fields = Object.entries((properties ?? {}) as Record<string, JsonObject>);
  const filledIn = fields.map(([name, field]) => [name, Object.hasOwn(content, name) ? { ...field, default: content[name] } : field]);
  const problems = violations.flatMap(({ path, message }) => {
    const field = fieldAt(asked.schema, `/content${path}`);
    return field ? [[field.name, message]] : [];
  });
  return {
    ...asked,
    message: `${asked.message}${ASKED_AGAIN}${describeProblems(violations.map((violation) => ({ ...violation, ...labelIn(asked, violation) })))}`,
    schema: { ...asked.schema, properties: Object.fromEntries(filledIn) as JsonObject },
    hints: { ...asked.hints, problems: Object.fromEntries(problems) as JsonObject },
  };
}

/** The question as versions before this one asked it. Tasks that wait with it go on under either version. */
export function identityAgain(asked: FormRequest, violations: readonly Violation[]): FormRequest {
  const named = violations.map((violation) => ({ path: labelIn(asked, violation).label ?? violation.path, message: violation.message }));
  return { ...asked, message: `${asked.message}${ASKED_AGAIN}${describeViolations(named)}` };
}

function labelIn({ schema }: FormRequest, { path }: Violation): { readonly label?: string } {
  const title = fieldAt(schema, `/content${path}`)?.schema["title"];
  return typeof title === "string" ? { label: title } : {};
}
