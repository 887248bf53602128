import { z } from "zod";
import { isLoopback } from "../address.ts";
import { type OauthProviderSettings, readOauthFile } from "./providers-file.ts";

/** For front ends, where people grant access, and for workers, which refresh tokens. */
export const oauthEnvironment = {
  PARLEY_OAUTH: z
    .string()
    .min(1)
    .optional()
    .describe(
      "File that lists the OAuth providers at which tools may act on a person's behalf: ./parley.oauth.json. Requires PARLEY_SECRET, which seals the tokens, and PARLEY_PUBLIC_URL. Unset: none.",
    ),
};

export interface OauthEnvironment {
  readonly PARLEY_OAUTH?: string | undefined;
  readonly PARLEY_SECRET: readonly string[];
  readonly PARLEY_PUBLIC_URL?: string | undefined;
}

/**
 * Path of the callback below PARLEY_PUBLIC_URL, followed by the name of the provider. Each provider has its own address, so that none can
 * answer for another (RFC 9700, 4.4).
 */
export const OAUTH_CALLBACK_PATH = "/oauth/callback";

/** Contradictions in the settings, one sentence each. */
export function oauthProblems({
  PARLEY_OAUTH: file,
  PARLEY_SECRET: secrets,
  PARLEY_PUBLIC_URL: publicUrl,
}: OauthEnvironment): readonly string[] {
  if (file === undefined) return [];
  const problems: string[] = [];
  if (secrets.length === 0)
    problems.push(
      "PARLEY_OAUTH: set PARLEY_SECRET, the same for all processes; otherwise tokens would be stored next to the key that seals them",
    );
  if (publicUrl === undefined) problems.push("PARLEY_OAUTH: set PARLEY_PUBLIC_URL, the address to which providers send people back");
  else if (!publicUrl.startsWith("https:") && !isLoopback(new URL(publicUrl).hostname))
    problems.push("PARLEY_OAUTH: PARLEY_PUBLIC_URL must be https; otherwise codes and cookies could be read in transit");
  return problems;
}

/** Throws OauthFileError. `variables` is the environment that secrets may be read from. */
export function openOauthFile(
  { PARLEY_OAUTH: file }: Pick<OauthEnvironment, "PARLEY_OAUTH">,
  variables: Readonly<Record<string, string | undefined>>,
): readonly OauthProviderSettings[] {
  return file === undefined ? [] : readOauthFile(file, variables);
}

/** The scopes that tools may ask for, for core's settings. */
export function oauthScopes(providers: readonly OauthProviderSettings[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(providers.map(({ name, scopes }) => [name, scopes]));
}
