/**
 * Asks questions on a terminal. Prompts go to standard error, so that standard output contains results only. The caller can close a prompt, because someone
 * else may answer in the meantime.
 */
import { autocomplete, autocompleteMultiselect, isCancel, note, text } from "@clack/prompts";
import {
  asShown,
  type Field,
  fieldsOf,
  hasMore,
  isFilledIn,
  isRisky,
  kindOfItems,
  type Json,
  type JsonObject,
  REASON_CHARS_MAX,
  valueOf,
} from "@parley/core";
import { confirm, multiselect, select } from "./choices.ts";
import { type Content, type Elicitation, type Form, isVisit, type Reply } from "./form.ts";
import { ABANDONED, LATER } from "./abandoned.ts";
import { lineSign, type LineSign, pastedAsOneLine, replacedBy } from "./paste.ts";
import { showUrl } from "./show.ts";
import { entryHint, entryOf, hasLines, isBroken, isRounded, parsed, readEntry } from "./entry.ts";
import { clean, cleanLine, printToStderr, styled } from "../terminal/terminal.ts";

/** With more choices than this, the prompt offers a search. */
const LISTED_MAX = 15;
const ROWS = 10;
/** A choice may be the empty string, so no string can stand for none of the choices. */
const NONE = Symbol("none");
type Chosen = string | symbol;

/** A problem in an answer, with its location. */
export interface Violation {
  /** JSON pointer into the content. */
  readonly path: string;
  readonly message: string;
}

/** What is shown with a question besides its message. */
export interface About {
  /** Who asks. */
  readonly title: string;
  readonly notes: readonly string[];
  /** Several people must accept: a "no" would be counted as an acceptance, so each accepts or declines. */
  readonly hasQuorum: boolean;
  /** Whether a person who declines may say why. */
  readonly takesReason: boolean;
}

export interface Asking {
  /** Aborted when the question is closed. */
  readonly signal: AbortSignal;
  readonly about?: About;
  /** The previous answer and the problems that the server found in it. */
  readonly refused?: { readonly content: Content; readonly violations: readonly Violation[] };
}

interface Options {
  readonly signal: AbortSignal;
  readonly output: NodeJS.WriteStream;
}

type Answering = Reply | typeof ABANDONED | typeof LATER;

/** Asks a tool's question. */
export async function promptFor(asked: Elicitation, { signal, about, refused }: Asking): Promise<Answering> {
  const options: Options = { signal, output: process.stderr };
  if (isVisit(asked)) return await promptToVisit(asked, options, about);
  if (!refused) {
    const hints = hintsOf(asked);
    const more = isFilledIn({ hints }) ? "The fields show what will be done." : "Nothing is chosen for you.";
    const risk = isRisky({ hints }) ? [styled("red", `This cannot be undone. ${more}`)] : [];
    note([clean(asked.message), ...(about?.notes ?? []), ...risk].join("\n\n"), about?.title ?? "A tool asks", { output: process.stderr });
    const yesOrNo = about?.hasQuorum ? undefined : confirmOf(asked);
    if (yesOrNo) return await promptToConfirm(asked, yesOrNo, options);
    const isWayBack = hints["back"] === true;
    const others = isWayBack ? [{ value: "decline" as const, label: "Back" }, ...OTHER_VERBS.slice(1)] : OTHER_VERBS;
    const verb = await select<Verb>({ message: "Answer?", options: [{ value: "accept", label: "Answer" }, ...others], ...options });
    if (isCancel(verb)) return ABANDONED;
    if (verb === "decline" && isWayBack) return { action: verb };
    if (verb !== "accept") return await withoutAnswer(verb, options, about);
  }
  const content = await promptForFields(asked.requestedSchema, { ...options, hints: hintsOf(asked), ...(refused && { refused }) });
  return content === ABANDONED ? ABANDONED : { action: "accept", content };
}

/** The author's words for the two answers, and the name of the field, if the question wants one yes or no and nothing else. */
export function confirmOf(asked: Form): { readonly name: string; readonly yes: string; readonly no: string } | undefined {
  const [only, ...others] = fieldsOf(asked.requestedSchema);
  const isOne = others.length === 0 && only?.kind === "boolean" && only.isRequired && only.default === undefined && !only.isNullable;
  const { submitLabel, cancelLabel, back } = hintsOf(asked);
  // Yes and no leave no room for the way back of a wizard's page.
  if (!isOne || back === true || hasMore(asked.requestedSchema)) return undefined;
  const word = (given: unknown, usual: string) => (typeof given === "string" ? cleanLine(given).slice(0, LABEL_CHARS_MAX) : "") || usual;
  return { name: only.name, yes: word(submitLabel, "Yes"), no: word(cancelLabel, "No") };
}

const LABEL_CHARS_MAX = 40;

function hintsOf({ _meta: meta }: Form): Readonly<Record<string, unknown>> {
  const hints = meta?.["parley/hints"];
  return typeof hints === "object" && hints !== null ? (hints as Readonly<Record<string, unknown>>) : {};
}

async function promptToConfirm(
  asked: Form,
  { name, yes, no }: NonNullable<ReturnType<typeof confirmOf>>,
  options: Options,
): Promise<Answering> {
  const risky = isRisky({ hints: hintsOf(asked) });
  const given = await select<"yes" | "no" | "later">({
    message: "Answer?",
    options: [
      { value: "yes", label: risky ? styled("red", yes) : yes },
      { value: "no", label: no },
      { value: "later", label: "Later" },
    ],
    // Enter alone must not do what cannot be undone.
    ...(risky && { initialValue: "later" as const }),
    ...options,
  });
  if (isCancel(given)) return ABANDONED;
  return given === "later" ? LATER : { action: "accept", content: { [name]: given === "yes" } };
}

type Verb = Reply["action"] | "later";
const OTHER_VERBS = [
  { value: "decline" as const, label: "Decline" },
  { value: "cancel" as const, label: "Close without an answer" },
  { value: "later" as const, label: "Later" },
];

async function withoutAnswer(verb: Exclude<Verb, "accept">, options: Options, about?: About): Promise<Answering> {
  if (verb === "later") return LATER;
  if (verb === "cancel" || !about?.takesReason) return { action: verb };
  const breaks = lineSign("");
  const reason = await pastedAsOneLine(() => text({ message: "Why? (optional)", validate: reasonProblem, ...options }), breaks);
  if (isCancel(reason)) return ABANDONED;
  return { action: verb, ...(reason && { reason: breaks.read(reason) }) };
}

function reasonProblem(typed = ""): string | undefined {
  return typed.length > REASON_CHARS_MAX ? `must have at most ${REASON_CHARS_MAX} characters` : undefined;
}

async function promptToVisit({ message, url }: Extract<Elicitation, { mode: "url" }>, options: Options, about?: About): Promise<Answering> {
  const shown = showUrl(url);
  const { host, protocol } = URL.parse(url) ?? {};
  const said = [clean(message), shown, `Host: ${host ?? "none"}`, ...(about?.notes ?? [])].join("\n\n");
  note(said, about ? `${about.title} you to visit a page` : "A tool asks you to visit a page", { output: process.stderr });
  const opens = protocol === "https:" || protocol === "http:";
  const verb = await select<Verb | "open">({
    message: "Visit it?",
    options: [
      ...(opens ? [{ value: "open" as const, label: "Open it in the browser" }] : []),
      { value: "accept", label: "I will open it myself" },
      ...OTHER_VERBS,
    ],
    ...options,
  });
  if (isCancel(verb)) return ABANDONED;
  if (verb === "accept") return { action: verb };
  if (verb !== "open") return await withoutAnswer(verb, options, about);
  const { openPage } = await import("../terminal/open-page.ts");
  if (!(await openPage(shown))) printToStderr(`No browser could be started. Open it yourself: ${shown}`);
  return { action: "accept" };
}

export interface FieldsAsking extends Asking {
  readonly output?: NodeJS.WriteStream;
  /** Values that are known; their fields are not asked for. */
  readonly given?: Content;
  /** The only fields that are asked for. */
  readonly only?: ReadonlySet<string>;
  /** Of a question: how carefully to ask. */
  readonly hints?: Readonly<Record<string, unknown>>;
}

/** Asks for the fields of a schema; after a refusal, only for the fields that were wrong. */
export async function promptForFields(
  schema: JsonObject,
  { signal, refused, given = {}, only, hints = {} }: FieldsAsking,
): Promise<Content | typeof ABANDONED> {
  const validate = await validatorOf(schema);
  const options: Options = { signal, output: process.stderr };
  const content: Content = { ...refused?.content };
  const fields = fieldsOf(schema)
    .map((field) => asShown(field, hints))
    .filter(({ name }) => !Object.hasOwn(given, name) && (only?.has(name) ?? true));
  const wrong = fields.filter(({ name }) => refused?.violations.some(({ path }) => isAt(path, name)));
  const elsewhere = refused?.violations.filter(({ path }) => !wrong.some(({ name }) => isAt(path, name))) ?? [];
  for (const { message } of elsewhere) printToStderr(`Refused: ${cleanLine(message)}`);
  for (const field of refused && wrong.length > 0 ? wrong : fields) {
    const violation = refused?.violations.find(({ path }) => isAt(path, field.name));
    if (violation) printToStderr(`${cleanLine(field.label)} ${cleanLine(violation.message)}`);
    const before = content[field.name];
    const isNullIfEmpty = field.isRequired && field.isNullable === true;
    const shown = {
      ...field,
      isRequired: field.isRequired && !isNullIfEmpty,
      ...(before !== undefined && before !== null && { default: before }),
    };
    const value = await promptForField(shown, { ...options, validate });
    if (isCancel(value)) return ABANDONED;
    if (value === undefined && isNullIfEmpty) content[field.name] = null;
    else if (value === undefined) delete content[field.name];
    else content[field.name] = value as Json;
  }
  if (Object.keys(given).length > 0 || refused || !hasMore(schema)) return content;
  const rest = await promptForRest(fields.length > 0, options);
  return typeof rest === "symbol" ? ABANDONED : { ...content, ...rest };
}

/** Asks for the members that the schema describes by alternatives, or does not name. */
async function promptForRest(isBesideFields: boolean, options: Options): Promise<JsonObject | symbol> {
  const given = await pastedAsOneLine(() =>
    text({
      message: `${isBesideFields ? "Other fields" : "Fields"} (as a JSON object, such as {"name": "value"}) (optional)`,
      validate: (typed = "") => (typed === "" || isObject(parsed(typed)) ? undefined : 'must be a JSON object, such as {"name": "value"}'),
      ...options,
    }),
  );
  const value = isCancel(given) || given === "" ? given : parsed(given);
  return typeof value === "symbol" ? value : isObject(value) ? value : {};
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isAt(path: string, name: string): boolean {
  return path.split("/").some((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~") === name);
}

/** Returns the problem with the value of one field. */
type Check = (field: Field, value: Json | undefined) => string | undefined;

/** The validation that the server uses, so that most problems are reported at the field. */
async function validatorOf(form: JsonObject): Promise<Check> {
  const { createValidator } = await import("@parley/node");
  const validate = createValidator();
  // The rest of the form's schema judges several fields together.
  const { $defs = {}, definitions = {} } = form;
  return ({ name, schema, isRequired }, value) => {
    const one = { $defs, definitions, type: "object", properties: { [name]: schema }, required: isRequired ? [name] : [] };
    try {
      const problem = validate(one, value === undefined ? {} : { [name]: value })[0];
      // The message may quote the schema, which comes from the server.
      return problem && cleanLine(problem.message);
    } catch {
      return undefined; // The schema of this field cannot be compiled alone. The server validates the value.
    }
  };
}

async function promptForField(field: Field, { validate, ...options }: Options & { readonly validate: Check }): Promise<unknown> {
  const { label, description, kind, isRequired, default: preset } = field;
  const notes = [description, entryHint(field), !isRequired && "optional"].flatMap((text) => (text ? `(${cleanLine(text)})` : []));
  const message = [cleanLine(label), ...notes].join(" ");
  const choices = field.choices.map(({ value, title = value }) => ({ value, label: cleanLine(title) || "(blank)" }));
  const valuesOf = (values: readonly (string | symbol)[]) =>
    values.map((value) => field.choices.find((each) => each.value === value)).flatMap((each) => (each ? [valueOf(each)] : []));
  switch (kind) {
    case "boolean": {
      if (isRequired || typeof preset === "boolean") return await confirm({ message, initialValue: preset === true, ...options });
      const given = await select({
        message,
        options: [
          { value: "yes", label: "Yes" },
          { value: "no", label: "No" },
          { value: "", label: "(none)" },
        ],
        initialValue: "",
        ...options,
      });
      return given === "" ? undefined : isCancel(given) ? given : given === "yes";
    }
    case "choices": {
      if (choices.length === 0) return await promptForText(field, { message, validate, ...options });
      const initialValues = Array.isArray(preset) ? preset.map((value) => (typeof value === "string" ? value : JSON.stringify(value))) : [];
      // A list that was left out would get its default, and a person who has emptied it wants none of it.
      const mayLeaveOut = !isRequired && initialValues.length === 0;
      const judge = (given: readonly string[] | string | undefined) => validate(field, valuesOf([given ?? []].flat()));
      for (let chosen: readonly string[] = initialValues; ;) {
        const all = { message, options: choices, required: false, initialValues: [...chosen], maxItems: ROWS, ...options };
        const given = choices.length > LISTED_MAX ? await pastedAsOneLine(() => autocompleteMultiselect(all)) : await multiselect(all);
        if (isCancel(given)) return given;
        if (given.length === 0 && mayLeaveOut) return undefined;
        const problem = judge(given);
        if (problem === undefined) return valuesOf(given);
        printToStderr(`${cleanLine(label)} ${problem}`);
        chosen = given;
      }
    }
    case "choice": {
      const all = {
        message,
        options: isRequired ? choices : [...choices, { value: NONE as symbol, label: "(none)" }],
        maxItems: ROWS,
        ...(preset !== undefined && { initialValue: typeof preset === "string" ? preset : JSON.stringify(preset) }),
        ...options,
      };
      const given = choices.length > LISTED_MAX ? await pastedAsOneLine(() => autocomplete<Chosen>(all)) : await select<Chosen>(all);
      if (isCancel(given)) return given;
      return given === NONE ? undefined : valuesOf([given])[0];
    }
    case "number":
    case "integer":
    case "text":
      return await promptForText(field, { message, validate, ...options });
  }
}

async function promptForText(
  field: Field,
  { message, validate, ...options }: Options & { readonly message: string; readonly validate: Check },
): Promise<unknown> {
  const { isRequired } = field;
  const initialValue = entryOf(field);
  const breaks = breaksIn(field, initialValue);
  const { read } = breaks;
  const prompt: Parameters<typeof text>[0] = {
    message: hasLines(field) ? `${message} (\\n is a new line)` : message,
    initialValue,
    validate(given = "") {
      const typed = read(given);
      const value = readEntry(typed, field);
      if (value === undefined || value === "") return isRequired && typed === "" ? "An answer is required." : undefined;
      if (isRounded(typed, field)) return "has more digits than a number can have";
      if (value === typed && isBroken(typed, field))
        return `must be JSON, such as ${field.kind === "choices" ? '[{"name":"value"}]' : '{"name":"value"}'}`;
      return validate(field, value);
    },
    ...options,
  };
  const given = await pastedAsOneLine(() => text(prompt), breaks);
  return isCancel(given) ? given : readEntry(read(given ?? ""), field);
}

/** What a line break in pasted text becomes in the prompt, and how what is typed is read. */
function breaksIn(field: Field, initial: string): LineSign {
  if (field.kind === "choices") return replacedBy(kindOfItems(field.schema) === undefined ? " " : ", ");
  // A date or a number has one line, and JSON may be written in one.
  if (field.kind !== "text" || field.schema["type"] !== "string" || field.schema["format"] !== undefined) return replacedBy(" ");
  return hasLines(field) ? replacedBy("\\n") : lineSign(initial);
}
