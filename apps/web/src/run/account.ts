/** Who is logged in with this browser, where people log in: then the page needs no token. */
import { signal } from "@preact/signals";
import { keepPerson, keepPlace, keptPerson } from "./tab-state.ts";

export interface Account {
  /** Whom requests without a token come from; undefined for nobody. */
  readonly name: string | undefined;
}

/** Undefined where nobody can log in. */
export const account = signal<Account | undefined>(undefined);

/** What the server goes by: a page of another server cannot send it. */
export const FROM_PAGE = { "x-requested-with": "parley" };

/** Resolves to whether another person is logged in than before, in this tab. Never rejects: without an answer, nobody can log in. */
export async function loadAccount(): Promise<boolean> {
  const response = await fetch("api/account", { headers: FROM_PAGE, cache: "no-store" }).catch(() => undefined);
  if (!response?.ok) return false;
  const { hasLogin, name, person } = (await response.json()) as {
    readonly hasLogin: boolean;
    readonly name?: string;
    readonly person?: string;
  };
  account.value = hasLogin ? { name } : undefined;
  const before = keptPerson();
  if (person !== undefined) keepPerson(person);
  return person !== undefined && before !== undefined && before !== person;
}

/** Leaves the page for the provider, which leads back to what is shown now. */
export function logIn(): void {
  keepPlace();
  location.assign("login");
}

export async function logOut(): Promise<void> {
  await fetch("../logout", { method: "POST", body: new URLSearchParams() }).catch(() => undefined);
  location.reload();
}
