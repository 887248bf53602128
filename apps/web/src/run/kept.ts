/** What a reload and another tab find again: a task by the address, a held call and the token by this tab's own storage. */
import type { JsonObject } from "@parley/core/form";

const CALL = "parley.call";
const TOKEN = "parley.token";

export interface KeptCall {
  readonly dialect: string;
  readonly tool: string;
  readonly state: JsonObject;
}

export interface Place {
  readonly task?: string;
  readonly dialect?: string;
  readonly tool?: string;
}

export function placeNow(): Place {
  const params = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(["task", "dialect", "tool"].flatMap((name) => (params.has(name) ? [[name, params.get(name)]] : [])));
}

/** Without a step in the history: Back leaves the page. */
export function showPlace(place: Place): void {
  history.replaceState(null, "", `#${new URLSearchParams(place as Record<string, string>)}`);
}

export function keepCall(call: KeptCall | undefined): void {
  if (!call) return sessionStorage.removeItem(CALL);
  try {
    sessionStorage.setItem(CALL, JSON.stringify(call));
  } catch {
    // Larger than the browser keeps: a reload finds nothing then, and says so.
    sessionStorage.removeItem(CALL);
  }
}

export function keptCall(): KeptCall | undefined {
  const text = sessionStorage.getItem(CALL);
  return text === null ? undefined : (JSON.parse(text) as KeptCall);
}

export function keepToken(token: string): void {
  if (token === "") sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, token);
}

export function keptToken(): string {
  return sessionStorage.getItem(TOKEN) ?? "";
}
