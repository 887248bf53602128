/**
 * Marks what `define…` returns, so that a module's exports can be recognised. The mark is a registered symbol, so two
 * copies of this package in one process recognise each other's definitions.
 */
import type { Module, Prompt, Resource, ResourceTemplate, Tool } from "@parley/core";

/** What `defineTool` and its siblings return. Modules export definitions, and PARLEY_TOOLS names the modules. */
export type Definition = Tool | Prompt | Resource | ResourceTemplate | Module;

const MARK = Symbol.for("parley.definition");

export function markDefinition<D extends Definition>(definition: D): D {
  return Object.defineProperty(definition, MARK, {});
}

export function isDefinition(value: unknown): value is Definition {
  return typeof value === "object" && value !== null && MARK in value;
}
