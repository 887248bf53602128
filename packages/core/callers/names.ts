/**
 * The names by which people can be asked (`to.people`). A name has a type, because names of different types are given out by different rules:
 * without types, a person could choose a username that is another person's subject, and answer in their place.
 *
 *   sub:7f3a           the subject, which the identity provider never gives to somebody else
 *   email:ada@acme.io  an address that the provider has verified
 *   username:ada       counts only if the operator says that usernames never change hands (PARLEY_AUTH_USERNAMES)
 *   api-key:nightly    a machine
 *   ada@acme.io        without a type: a subject or a verified address, never a username
 */
import type { CallerNames } from "../task.ts";
import type { Caller } from "./caller.ts";

const TYPES = ["sub", "email", "username", "api-key"] as const;

export type NameType = (typeof TYPES)[number];

export function typedName(type: NameType, name: string): string {
  return `${type}:${name}`;
}

function typeOf(name: string): NameType | undefined {
  return TYPES.find((type) => name.startsWith(`${type}:`));
}

/** Whether a caller with the names `own` is one of the people `wanted`. */
export function isNamed(wanted: readonly string[], own: readonly string[]): boolean {
  return wanted.some(
    (name) =>
      own.includes(name) ||
      (typeOf(name) === undefined && (own.includes(typedName("sub", name)) || own.includes(typedName("email", name)))),
  );
}

/** Everything that a question can call a person with the names `own`: a name with its type, and without it where `isNamed` accepts that. */
export function namesOfPerson(own: readonly string[]): string[] {
  return own.flatMap((name) => {
    const type = typeOf(name);
    const plain = type === "sub" || type === "email" ? name.slice(type.length + 1) : undefined;
    return plain === undefined || typeOf(plain) !== undefined ? [name] : [name, plain];
  });
}

/** The name without its type, for people to read. */
export function shownName(name: string): string {
  const type = typeOf(name);
  return type === undefined || type === "api-key" ? name : name.slice(type.length + 1);
}

/**
 * What a person is called where others read it: what the provider calls them, else their verified address or username,
 * else their subject with its type, so that a subject is not taken for a name. Undefined for those who have no identity.
 */
export function nameToRead({
  displayName,
  names,
  authenticatedBy,
}: Pick<Caller, "displayName" | "names" | "authenticatedBy">): string | undefined {
  if (authenticatedBy === "nobody") return undefined;
  if (displayName !== undefined) return displayName;
  const named = names.find((each) => typeOf(each) === "email") ?? names.find((each) => typeOf(each) === "username") ?? names[0];
  if (named === undefined) return undefined;
  return inOneLine(typeOf(named) === "sub" ? named : shownName(named));
}

/** What is kept of a caller with its call. Undefined for those who have no identity. */
export function callerNames(caller: Pick<Caller, "displayName" | "names" | "authenticatedBy">): CallerNames | undefined {
  const name = nameToRead(caller);
  if (name === undefined) return undefined;
  const ofType = (type: NameType) => caller.names.find((each) => typeOf(each) === type)?.slice(type.length + 1);
  const [email, subject] = [ofType("email"), ofType("sub")];
  return { name, ...(email !== undefined && { email }), ...(subject !== undefined && { subject }) };
}

/**
 * `Ada Lovelace (ada@acme.io)`: a name, which several people may have, with what only this person has. Undefined if
 * nothing is known.
 */
export function whoIs({ name, email, subject }: CallerNames): string | undefined {
  const only = email ?? (subject === undefined ? undefined : typedName("sub", subject));
  if (name === undefined || only === undefined) return name ?? (only === undefined ? undefined : inOneLine(only));
  const shown = inOneLine(only);
  return name === shown ? name : `${name} (${shown})`;
}

/** Addresses and subjects come from outside: without what could end a line, or make it read as another one. */
function inOneLine(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
}

/** How to address a person, of the caller's names: by their address, else by their username, else by their subject. */
export function addressOf(names: readonly string[]): string | undefined {
  const name = names.find((each) => typeOf(each) === "email") ?? names.find((each) => typeOf(each) === "username") ?? names[0];
  return name === undefined ? undefined : shownName(name);
}
