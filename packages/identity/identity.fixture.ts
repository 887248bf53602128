import type { ApiKeys } from "@parley/core";
import { createIdentity, type Identity } from "./identity.ts";
import { type IdentityEnvironment, identityEnvironment, identitySettings } from "./settings.ts";
import { z } from "zod";

export const AUDIENCE = "http://localhost:3000/mcp";

export interface Under {
  readonly identity: Identity;
  /** Identifies a request with this bearer token. */
  readonly bearer: (token: string) => ReturnType<Identity["identify"]>;
  readonly logged: readonly { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[];
  /** The current time in whole seconds. It does not advance by itself. */
  readonly nowS: number;
  /** Advances both clocks. */
  skip(ms: number): void;
}

export function environmentOf(settings: Readonly<Record<string, string>>): IdentityEnvironment {
  return z.object(identityEnvironment).parse({ PARLEY_AUTH: "required", PARLEY_PUBLIC_URL: "http://localhost:3000", ...settings });
}

/** An identity configured by the environment, on clocks that a test advances. */
export function identityOf(environment: Readonly<Record<string, string>>, ports: { readonly apiKeys?: ApiKeys } = {}): Under {
  const settings = identitySettings(environmentOf(environment));
  if (!settings) throw new Error("the environment requires no identity");
  const logged: { message: string; fields: Readonly<Record<string, unknown>> }[] = [];
  const write = (fields: object, message: string) => void logged.push({ message, fields: { ...fields } });
  const nowS = Math.floor(Date.now() / 1_000);
  let skippedMs = 0;
  const identity = createIdentity(settings, {
    log: { debug: write, info: write, warn: write, error: write },
    now: () => nowS * 1_000 + skippedMs,
    elapsedMs: () => skippedMs,
    ...ports,
  });
  return {
    identity,
    bearer: (token) => identity.identify({ rawHeaders: ["Authorization", `Bearer ${token}`], url: "/mcp", address: "127.0.0.1" }),
    logged,
    nowS,
    skip: (ms) => void (skippedMs += ms),
  };
}
