/**
 * Answers to what tools ask: from `--set field=value`, or from questions on the terminal. Both read the ask's schema, so that "4" becomes a
 * number where a number is asked for. What fits is judged by the server alone.
 */
import { cancel, confirm, isCancel, multiselect, note, select, text } from "@clack/prompts";
import { type Field, fieldsOf, type Json, type JsonObject, readTyped } from "@parley/core";

export interface Form {
  readonly mode?: "form";
  readonly message: string;
  readonly requestedSchema: JsonObject;
}

/** Asks the user to go to a page. */
export interface Visit {
  readonly mode: "url";
  readonly message: string;
  readonly url: string;
}

export type Elicitation = Form | Visit;

export type Reply = { action: "accept"; content?: Record<string, Json> } | { action: "decline" } | { action: "cancel" };

export function isVisit(asked: Elicitation): asked is Visit {
  return asked.mode === "url";
}

/** `["partySize=4", "seats=inside,window"]` → the content of an answer, by the form's types. Throws an Error for what is no assignment or no field. */
export function contentOf(assignments: readonly string[], { requestedSchema }: Form): Record<string, Json> {
  const fields = fieldsOf(requestedSchema);
  const content: Record<string, Json> = {};
  for (const assignment of assignments) {
    const [name, given] = split(assignment);
    const field = fields.find((each) => each.name === name);
    if (!field) throw new Error(`the question has no field ${name}; it has ${fields.map((each) => each.name).join(", ") || "none"}`);
    const before = content[name];
    const value = readTyped(given, field);
    content[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  }
  return content;
}

/** `name=value` → both. */
export function split(assignment: string): [name: string, value: string] {
  const at = assignment.indexOf("=");
  if (at < 1) throw new Error(`${assignment} is not of the form name=value`);
  return [assignment.slice(0, at), assignment.slice(at + 1)];
}

/** Asks on the terminal. Ctrl-C leaves the question open: `undefined`. */
export async function promptFor(asked: Elicitation): Promise<Reply | undefined> {
  note(isVisit(asked) ? `${asked.message}\n\n${asked.url}` : asked.message, "A tool asks");
  const action = await select<Reply["action"]>({
    message: isVisit(asked) ? "Open that page?" : "Answer?",
    options: [
      { value: "accept", label: isVisit(asked) ? "Open the page" : "Answer" },
      { value: "decline", label: "Decline" },
      { value: "cancel", label: "Dismiss" },
    ],
  });
  if (isCancel(action)) return left();
  if (action !== "accept") return { action };
  if (isVisit(asked)) return { action };

  const content: Record<string, Json> = {};
  for (const field of fieldsOf(asked.requestedSchema)) {
    const value = await promptForField(field);
    if (typeof value === "symbol") return left();
    if (value !== undefined) content[field.name] = value;
  }
  return { action, content };
}

function left(): undefined {
  cancel("The question stays open.");
  return undefined;
}

async function promptForField(field: Field): Promise<Json | symbol | undefined> {
  const { label, description, kind, isRequired, default: preset } = field;
  const message = [label, description && `(${description})`, !isRequired && "(optional)"].filter(Boolean).join(" ");
  const options = field.choices.map(({ value, title = value }) => ({ value, label: title }));
  switch (kind) {
    case "boolean":
      return await confirm({ message, initialValue: preset === true });
    case "choices": {
      const initialValues = Array.isArray(preset) ? preset.filter((value) => typeof value === "string") : [];
      return await multiselect({ message, options, required: isRequired, initialValues });
    }
    case "choice": {
      const initialValue = typeof preset === "string" ? { initialValue: preset } : {};
      const value = await select({
        message,
        options: isRequired ? options : [...options, { value: "", label: "(none)" }],
        ...initialValue,
      });
      return value === "" ? undefined : value;
    }
    case "number":
    case "integer":
    case "text": {
      const initialValue = preset === undefined ? {} : { initialValue: typeof preset === "string" ? preset : JSON.stringify(preset) };
      const given = await text({
        message,
        ...initialValue,
        validate(typed) {
          if (!typed) return isRequired ? "An answer is required." : undefined;
          return kind !== "text" && typeof readTyped(typed, field) !== "number" ? "A number is required." : undefined;
        },
      });
      if (isCancel(given)) return given;
      return given === "" || given === undefined ? undefined : readTyped(given, field);
    }
  }
}
