/** Renders the control of each field, chosen by its schema. */
import type { Choice } from "@parley/core/form";
import { useState } from "preact/hooks";
import { type Draft, fewChoices, type Input, noteOf, type Problems, type Typed, untouched } from "../../form/inputs.ts";
import { filled } from "../../texts/words.ts";
import { count, described, fieldTexts, said } from "../language.ts";
import { chooseByLetters } from "../letters.ts";

export interface FieldsProps {
  /** Makes ids of controls unique on the page. */
  readonly scope: string;
  readonly inputs: readonly Input[];
  readonly draft: Draft;
  readonly problems: Problems;
  readonly onType: (name: string, typed: Typed) => void;
}

export function Fields({ scope, inputs, draft, problems, onType }: FieldsProps) {
  return (
    <>
      {inputs.map((input, index) => (
        <Field
          key={input.name}
          id={`${scope}-${index}`}
          input={input}
          typed={(Object.hasOwn(draft, input.name) ? draft[input.name] : undefined) ?? untouched(input)}
          problem={Object.hasOwn(problems, input.name) ? problems[input.name] : undefined}
          onType={(typed) => onType(input.name, typed)}
        />
      ))}
    </>
  );
}

interface FieldProps {
  readonly id: string;
  readonly input: Input;
  readonly typed: Typed;
  readonly problem: string | undefined;
  readonly onType: (typed: Typed) => void;
}

function Field(props: FieldProps) {
  const { id, input, problem } = props;
  const { description, hint, isRequired, control } = input;
  const label = labelOf(input);
  const notes = [described(description), said(hint), said(noteOf(input, props.typed))].filter(Boolean).join(" · ");
  const describedBy = [notes && `${id}-notes`, problem !== undefined && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const below = (
    <>
      {notes && (
        <p id={`${id}-notes`} class="notes" dir="auto">
          {notes}
        </p>
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} class="problem" dir="auto">
          {said(problem)}
        </p>
      )}
    </>
  );
  const common = {
    id,
    "aria-describedby": describedBy,
    "aria-invalid": problem === undefined ? undefined : ("true" as const),
    "aria-required": isRequired,
  };
  const { yes, no, empty: none } = fieldTexts();
  const few = fewChoices(input, { yes, no, none, titleOf });
  if (few || control === "checks") {
    const group = few
      ? { ...common, role: "radiogroup" as const }
      : { id, "aria-describedby": describedBy, "data-invalid": problem !== undefined };
    return (
      <fieldset {...group} class="field" tabIndex={-1}>
        <legend dir="auto">
          {label}
          {!isRequired && <Optional />}
        </legend>
        {few ? <Radios {...props} few={few} /> : <Checks {...props} />}
        {below}
      </fieldset>
    );
  }
  if (control === "checkbox") {
    return (
      <div class="field">
        <label class="check" for={id}>
          <input
            {...common}
            aria-required={undefined}
            type="checkbox"
            checked={props.typed === true}
            onChange={(event) => props.onType(event.currentTarget.checked)}
          />
          <span dir="auto">{label}</span>
        </label>
        {below}
      </div>
    );
  }
  return (
    <div class="field">
      <label for={id} dir="auto">
        {label}
        {!isRequired && <Optional />}
      </label>
      <Control {...props} common={common} />
      {below}
    </div>
  );
}

/** Of what has no name in the schema, the form names it. */
function labelOf({ label, isRest }: Input): string {
  return isRest ? said(label) : label;
}

function Optional() {
  return <span class="optional"> {fieldTexts().optional}</span>;
}

/** Values of `type`. Preact's types restrict the other attributes by `type`; the attributes used here are valid for all of them. */
const TYPES: Readonly<Record<string, string>> = { email: "email", url: "url", date: "date" };

function Control({ input, typed, onType, common }: FieldProps & { readonly common: object }) {
  const { control, choices, schema, isRequired } = input;
  const text = typeof typed === "string" ? typed : "";
  const type = (event: { readonly currentTarget: { readonly value: string } }) => onType(event.currentTarget.value);
  switch (control) {
    case "area":
    case "json":
    case "lines":
      return (
        <textarea
          {...common}
          dir="auto"
          class={control === "json" ? "mono" : undefined}
          rows={control === "json" ? 5 : 3}
          value={text}
          placeholder={control === "json" ? "JSON" : control === "lines" ? fieldTexts().line : undefined}
          spellcheck={control === "area"}
          onInput={type}
        />
      );
    case "select":
      return (
        <select {...common} value={text} onChange={type}>
          {(!isRequired || untouched(input) === "") && <option value="">{isRequired ? fieldTexts().choose : "–"}</option>}
          {choices.map((choice, index) => (
            <option key={choice.value} value={`${index}`}>
              {titleOf(choice)}
            </option>
          ))}
        </select>
      );
    case "number":
      return (
        <input
          {...common}
          type="text"
          inputMode={input.kind === "integer" ? "numeric" : "decimal"}
          autocomplete="off"
          value={text}
          onInput={type}
        />
      );
    case "datetime":
      return <input {...common} type="datetime-local" step="1" value={text} onInput={type} />;
    default: {
      const { maxLength } = schema;
      return (
        <input
          {...common}
          type={(TYPES[control] ?? "text") as "text"}
          dir={control === "text" ? "auto" : undefined}
          autocomplete="off"
          value={text}
          placeholder={typeof maxLength === "number" && maxLength === 0 ? fieldTexts().empty : undefined}
          onInput={type}
        />
      );
    }
  }
}

/** A choice may be the empty string, with no title. */
function titleOf({ value, title = value }: Choice): string {
  return title.trim() === "" ? fieldTexts().blank : title;
}

function Radios({ id, typed, onType, few }: FieldProps & { readonly few: readonly (readonly [value: string, title: string])[] }) {
  return (
    <div class="checks" ref={chooseByLetters}>
      {few.map(([value, title]) => (
        <label key={value} class="check" for={`${id}-${value}`}>
          <input id={`${id}-${value}`} type="radio" name={id} checked={typed === value} onChange={() => onType(value)} />
          <span dir="auto">{title}</span>
        </label>
      ))}
    </div>
  );
}

const SEARCHED_FROM = 12;
const SHOWN_AT_ONCE = 100;

/** Checkboxes for several choices. Of thousands, it shows those that match the search, and names those that are chosen. */
function Checks({ id, input, typed, onType }: FieldProps) {
  const [query, setQuery] = useState("");
  const chosen = Array.isArray(typed) ? (typed as readonly string[]) : [];
  const { choices } = input;
  const wanted = query.toLowerCase();
  const fitting = choices.filter(
    (choice) => wanted === "" || titleOf(choice).toLowerCase().includes(wanted) || choice.value.toLowerCase().includes(wanted),
  );
  const shown = fitting.slice(0, SHOWN_AT_ONCE);
  const hidden = chosen.filter((value) => !shown.some((choice) => choice.value === value));
  const toggle = (value: string, isOn: boolean) => onType(isOn ? [...chosen, value] : chosen.filter((each) => each !== value));
  return (
    <>
      {choices.length > SEARCHED_FROM && (
        <input
          type="search"
          aria-label={filled(fieldTexts().search, { field: labelOf(input) })}
          placeholder={filled(fieldTexts().choices, { count: count(choices.length) })}
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
      )}
      <div class={choices.length > SEARCHED_FROM ? "checks scrolls" : "checks"}>
        {shown.map((choice, index) => (
          <label key={choice.value} class="check" for={`${id}-${index}`}>
            <input
              id={`${id}-${index}`}
              type="checkbox"
              checked={chosen.includes(choice.value)}
              onChange={(event) => toggle(choice.value, event.currentTarget.checked)}
            />
            <span dir="auto">{titleOf(choice)}</span>
          </label>
        ))}
      </div>
      {(fitting.length > shown.length || hidden.length > 0) && (
        <p class="notes">
          {[
            fitting.length > shown.length && filled(fieldTexts().more, { count: count(fitting.length - shown.length) }),
            hidden.length > 0 &&
              filled(fieldTexts().hidden, {
                names: `${hidden
                  .slice(0, 5)
                  .map((value) => titleOf({ value }))
                  .join(", ")}${hidden.length > 5 ? " …" : ""}`,
              }),
          ]
            .filter(Boolean)
            .join(" · ")}
        </p>
      )}
    </>
  );
}

/** The fields with input that the browser cannot read, such as a date without its year. Their controls have no value. */
export function unreadable(form: HTMLElement | null, scope: string, inputs: readonly Input[]): Problems {
  const problems = inputs.flatMap(({ name }, index) => {
    const control = form?.querySelector<HTMLInputElement>(`#${scope}-${index}`);
    return control?.validity?.badInput ? [[name, "is incomplete, or is no such date"] as const] : [];
  });
  return Object.fromEntries(problems);
}

/** Of several that are shown at once, the first can be chosen at once. */
const WRONG = '[aria-invalid="true"]:not(fieldset), fieldset[aria-invalid="true"] input, [data-invalid="true"]';

/** Focuses the first control with a problem, so that screen readers announce it. */
export function focusProblem(form: HTMLElement | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>(WRONG)?.focus());
}
