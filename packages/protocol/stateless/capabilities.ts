/** Capabilities of stateless clients: those of all revisions, and extensions. */
import type { ClientCapabilities } from "@parley/core";
import { readCapabilities as askable, type RequiredCapabilities } from "../capabilities.ts";
import { given, isObject, type Wire } from "../json-rpc.ts";
import { TASKS_EXTENSION } from "./names.ts";

export const REQUIRED_TASKS: RequiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };

/** Reads declared capabilities. Returns the path of the first member that is not an object, as a string. */
export function readCapabilities(declared: Wire): ClientCapabilities | string {
  const capabilities = askable(declared);
  if (typeof capabilities === "string") return capabilities;
  const extensions = given(declared, "extensions");
  if (extensions === undefined) return capabilities;
  if (!isObject(extensions)) return "extensions";
  for (const [id, settings] of Object.entries(extensions)) if (settings !== null && !isObject(settings)) return `extensions.${id}`;
  return capabilities;
}

export function declaresTasks(declared: Wire): boolean {
  const extensions = given(declared, "extensions");
  return isObject(extensions) && given(extensions, TASKS_EXTENSION) !== undefined;
}
