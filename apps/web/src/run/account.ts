/** Who is logged in with this browser, where people log in: then the page needs no token. */
import { signal } from "@preact/signals";
import { forgetDrafts } from "./drafts.ts";
import { keepCall, keepPerson, keepPlace, keptPerson } from "./tab-state.ts";

export interface Account {
  /** Whom requests without a token come from; undefined for nobody. */
  readonly name: string | undefined;
}

const PATIENCE_MS = 5_000;

/** Undefined where nobody can log in. */
export const account = signal<Account | undefined>(undefined);

/** What the server goes by: a page of another server cannot send it. */
export const FROM_PAGE = { "x-requested-with": "parley" };

/** Resolves to whether another person is logged in than before, in this tab. Never rejects: without an answer, nobody can log in. */
export async function loadAccount(): Promise<boolean> {
  const found = await readAccount().catch(() => undefined);
  if (!found) return false;
  const { hasLogin, name, person } = found;
  account.value = hasLogin ? { name } : undefined;
  const before = keptPerson();
  if (person !== undefined) keepPerson(person);
  return person !== undefined && before !== undefined && before !== person;
}

interface Found {
  readonly hasLogin: boolean;
  readonly name?: string;
  readonly person?: string;
}

/** Undefined without an answer. Rejects if something else than this server has answered, or nobody in time: the page shows nothing before. */
async function readAccount(): Promise<Found | undefined> {
  const response = await fetch("api/account", { headers: FROM_PAGE, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  return response.ok ? ((await response.json()) as Found) : undefined;
}

/** Leaves the page for the provider, which leads back to what is shown now. */
export function logIn(): void {
  keepPlace();
  location.assign("login");
}

export async function logOut(): Promise<void> {
  const reply = await fetch("../logout", { method: "POST", body: new URLSearchParams() }).catch(() => undefined);
  // Before another person sits down at this browser.
  if (reply?.ok) {
    forgetDrafts();
    keepCall(undefined);
  }
  location.reload();
}
