/**
 * What `define…` made is marked, so that a module's exports can be told apart. The mark is a registered symbol: two copies of this package in
 * one process know each other's definitions.
 */
import type { Module, Prompt, Resource, ResourceTemplate, Tool } from "@parley/core";

/** What `defineTool` and its siblings make: a module exports such, and PARLEY_TOOLS names the modules. */
export type Definition = Tool | Prompt | Resource | ResourceTemplate | Module;

const MARK = Symbol.for("parley.definition");

export function markDefinition<D extends Definition>(definition: D): D {
  return Object.defineProperty(definition, MARK, { value: true });
}

export function isDefinition(value: unknown): value is Definition {
  return typeof value === "object" && value !== null && MARK in value;
}
