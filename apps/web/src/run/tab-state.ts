/** State that survives a reload: a task in the address, which another tab can open too; a held call and the token in the storage of this tab. */
import type { JsonObject } from "@parley/core/form";

const CALL = "parley.call";
const TOKEN = "parley.token";
const PERSON = "parley.person";
const PLACE = "parley.place";

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

/** Does not add to the history, so that Back leaves the page. */
export function showPlace(place: Place): void {
  history.replaceState(null, "", `#${new URLSearchParams(place as Record<string, string>)}`);
}

export function keepCall(call: KeptCall | undefined): void {
  if (!call) return sessionStorage.removeItem(CALL);
  try {
    sessionStorage.setItem(CALL, JSON.stringify(call));
  } catch {
    // The storage is full: after a reload, the call cannot be resumed.
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

/** Who was logged in when this tab was used last. */
export function keptPerson(): string | undefined {
  return sessionStorage.getItem(PERSON) ?? undefined;
}

export function keepPerson(person: string): void {
  sessionStorage.setItem(PERSON, person);
}

/** For the way to the provider and back, which loses what stands behind the # of the address. */
export function keepPlace(): void {
  sessionStorage.setItem(PLACE, location.hash);
}

export function returnToPlace(): void {
  const hash = sessionStorage.getItem(PLACE);
  sessionStorage.removeItem(PLACE);
  if (hash !== null && location.hash === "") history.replaceState(null, "", hash);
}
