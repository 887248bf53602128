/** A choice among options: an enum, with titles if there are any, and a list for several. */
import type { JsonObject } from "@parley/core";
import { type Field, WrongOption } from "./field.ts";
import type { SelectOption, SelectOptions } from "./options.ts";
import { descriptionOf, titleOf } from "./wording.ts";

/** No one reads more: ask for a text, or for the first letter. */
export const OPTIONS_MAX = 1_000;

export function selectField(name: string, options: SelectOptions): Field {
  const { multi = false, minItems, maxItems } = options;
  const all = checkedOptions(options.options);
  const offered = all.filter(({ disabled }) => disabled !== true);
  if (offered.length === 0) throw new WrongOption("options", "are all disabled: there is nothing to choose");
  for (const [option, value] of [
    ["minItems", minItems],
    ["maxItems", maxItems],
  ] as const) {
    if (value === undefined) continue;
    if (!multi) throw new WrongOption(option, "goes with multi");
    if (!Number.isInteger(value) || value < 0) throw new WrongOption(option, "must be a whole number from 0");
  }
  if ((minItems ?? 0) > Math.min(maxItems ?? Infinity, offered.length))
    throw new WrongOption("minItems", `is ${minItems}, and at most ${Math.min(maxItems ?? Infinity, offered.length)} can be chosen`);
  checkDefault(options.default, { all, multi });
  const values = offered.map(({ value }) => value);
  const isTitled = offered.some((option) => titled(option) !== option.value);
  const titles = offered.map((option) => ({ const: option.value, title: titled(option) }));
  const about = { ...titleOf(name, options), ...descriptionOf(options, unavailable(all)) };
  const property: JsonObject = multi
    ? {
        type: "array",
        ...about,
        ...(minItems !== undefined && { minItems }),
        ...(maxItems !== undefined && { maxItems }),
        items: isTitled ? { anyOf: titles } : { type: "string", enum: values },
      }
    : { type: "string", ...about, ...(isTitled ? { oneOf: titles } : { enum: values }) };
  return {
    property,
    judge: (value) => (Array.isArray(value) && new Set(value).size < value.length ? "must not hold the same option twice" : undefined),
  };
}

type Option = Exclude<SelectOption, string>;

function checkedOptions(given: readonly SelectOption[]): readonly Option[] {
  if (!Array.isArray(given) || given.length === 0) throw new WrongOption("options", "must be a list of at least one option");
  if (given.length > OPTIONS_MAX)
    throw new WrongOption("options", `are ${given.length}, and may be ${OPTIONS_MAX}: ask for a text instead`);
  const seen = new Set<string>();
  return given.map((each: unknown, index) => {
    const option = (typeof each === "string" ? { value: each } : each) as Option;
    if (typeof (option as Partial<Option> | null | undefined)?.value !== "string")
      throw new WrongOption(`options/${index}`, "must be a string, or an object with a value that is a string");
    if (seen.has(option.value))
      throw new WrongOption(`options/${index}`, `has the value ${JSON.stringify(option.value.slice(0, 40))} of another option`);
    seen.add(option.value);
    return option;
  });
}

function checkDefault(given: unknown, { all, multi }: { readonly all: readonly Option[]; readonly multi: boolean }): void {
  if (given === undefined) return;
  if (multi !== Array.isArray(given)) throw new WrongOption("default", multi ? "must be a list of values" : "must be one value");
  for (const value of (multi ? given : [given]) as readonly unknown[]) {
    const option = all.find((each) => each.value === value);
    if (!option) throw new WrongOption("default", "is not among the options");
    if (option.disabled === true) throw new WrongOption("default", "is a disabled option");
  }
}

/** The text that the person reads; forms have one per option. */
function titled({ value, title, label, description, category, price, quantity, badge }: Option): string {
  const beside = [category, price, quantity, badge].filter((fact) => fact !== undefined && fact !== "").join(", ");
  return [
    title ?? label ?? value,
    ...(description === undefined || description === "" ? [] : [` – ${description}`]),
    ...(beside === "" ? [] : [` (${beside})`]),
  ].join("");
}

function unavailable(all: readonly Option[]): readonly string[] {
  const gone = all.filter(({ disabled }) => disabled === true);
  if (gone.length === 0) return [];
  const named = gone.map((option) => {
    const { disabledReason } = option;
    return `${titled(option)}${disabledReason === undefined || disabledReason === "" ? "" : ` (${disabledReason})`}`;
  });
  return [`Not available: ${named.join(", ")}`];
}
