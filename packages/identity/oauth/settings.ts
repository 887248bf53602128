import { z } from "zod";
import { isLoopback } from "../address.ts";
import { type OauthProviderSettings, readOauthFile } from "./providers-file.ts";

/** Front ends and workers alike: people grant at the former, tokens are renewed in the latter. */
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

/** Below PARLEY_PUBLIC_URL, before the name of the provider: each has an address of its own, so that none can answer for another (RFC 9700, 4.4). */
export const OAUTH_CALLBACK_PATH = "/oauth/callback";

/** What does not fit together, a sentence each. */
export function oauthProblems({
  PARLEY_OAUTH: file,
  PARLEY_SECRET: secrets,
  PARLEY_PUBLIC_URL: publicUrl,
}: OauthEnvironment): readonly string[] {
  if (file === undefined) return [];
  const problems: string[] = [];
  if (secrets.length === 0)
    problems.push(
      "PARLEY_OAUTH: set PARLEY_SECRET, the same for all processes: without it tokens would be kept beside the key that seals them",
    );
  if (publicUrl === undefined) problems.push("PARLEY_OAUTH: set PARLEY_PUBLIC_URL, to which providers send people back");
  else if (!publicUrl.startsWith("https:") && !isLoopback(new URL(publicUrl).hostname))
    problems.push("PARLEY_OAUTH: PARLEY_PUBLIC_URL must be https, or codes and cookies could be read on the way");
  return problems;
}

/** Throws OauthFileError. `variables` are those that secrets may be in. */
export function openOauthFile(
  { PARLEY_OAUTH: file }: Pick<OauthEnvironment, "PARLEY_OAUTH">,
  variables: Readonly<Record<string, string | undefined>>,
): readonly OauthProviderSettings[] {
  return file === undefined ? [] : readOauthFile(file, variables);
}

/** What tools may ask for, for core's settings. */
export function oauthScopes(providers: readonly OauthProviderSettings[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(providers.map(({ name, scopes }) => [name, scopes]));
}
