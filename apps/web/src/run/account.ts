/** Who is logged in with this browser, where people log in: then the page needs no token. */
import { signal } from "@preact/signals";
import { othersSent, tellLeft } from "../leaving.ts";
import { forgetDrafts } from "./drafts.ts";
import { keepCall, keepPerson, keepPlace, keptPerson } from "./tab-state.ts";

export interface Account {
  /** Whom requests without a token come from; undefined for nobody. */
  readonly name: string | undefined;
}

const PATIENCE_MS = 5_000;

/** Undefined where nobody can log in, and until the server has said whether somebody can. */
export const account = signal<Account | undefined>(undefined);

/** What the server goes by: a page of another server cannot send it. */
export const FROM_PAGE = { "x-requested-with": "parley" };

/** Resolves to who is logged in, in comparison with before, in this tab; `unknown` if the server cannot say now. Never rejects. */
export async function loadAccount(): Promise<"same" | "another" | "unknown"> {
  const found = await readAccount();
  if (!found) return "unknown";
  const { hasLogin, name, person } = found;
  account.value = hasLogin ? { name } : undefined;
  const before = keptPerson();
  if (person !== undefined) keepPerson(person);
  return person !== undefined && before !== undefined && before !== person ? "another" : "same";
}

interface Found {
  readonly hasLogin: boolean;
  readonly name?: string;
  readonly person?: string;
}

const NO_LOGIN: Found = { hasLogin: false };

/** Undefined without an answer, or without one in time, because the page shows nothing before. A reply of another server, such as a proxy's page, knows no login. */
async function readAccount(): Promise<Found | undefined> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch("api/account", { headers: FROM_PAGE, cache: "no-store", signal }).catch(() => undefined);
  if (!response || response.status === 429 || response.status >= 500) return undefined;
  if (!response.ok) return NO_LOGIN;
  return await response.json().catch((error: unknown) => (error instanceof SyntaxError ? NO_LOGIN : undefined));
}

/** Leaves the page for the provider, which leads back to what is shown now. */
export function logIn(): void {
  keepPlace();
  location.assign("login");
}

export async function logOut(): Promise<void> {
  await othersSent();
  const reply = await fetch("../logout", { method: "POST", body: new URLSearchParams() }).catch(() => undefined);
  // Before another person sits down at this browser.
  if (reply?.ok) {
    forgetDrafts();
    keepCall(undefined);
    tellLeft();
  }
  location.reload();
}
