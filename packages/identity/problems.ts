import { addressRanges, isLoopback, unsafeAddress } from "./address.ts";
import { type IdentityEnvironment, type IdentitySettings, identitySettings } from "./settings.ts";

/** What does not fit in the settings, a sentence each: settings that only make sense together, and where the server listens. */
export function identityProblems(environment: IdentityEnvironment, host: string): readonly string[] {
  const settings = identitySettings(environment);
  if (!settings) {
    if (isLoopback(host) || environment.PARLEY_AUTH_NONE_ANYWHERE) return [];
    return [
      `PARLEY_AUTH: with none, everybody who reaches ${host} would see and answer all questions. Set PARLEY_AUTH=required and PARLEY_AUTH_ISSUERS, ` +
        "or PARLEY_HOST=127.0.0.1, or, where a network or a proxy keeps strangers out, PARLEY_AUTH_NONE_ANYWHERE=true",
    ];
  }
  const problems: string[] = [];
  const { issuers, audiences, introspection, proxy, apiKeys, allowHttp } = settings;
  const publicUrl = environment.PARLEY_PUBLIC_URL;
  if (issuers.length === 0 && !apiKeys) {
    problems.push(
      "PARLEY_AUTH_ISSUERS: PARLEY_AUTH=required needs a provider, or nobody could log in; or PARLEY_AUTH_API_KEYS=true, for machines alone",
    );
  }
  if (issuers.length === 0 && introspection)
    problems.push("PARLEY_AUTH_ISSUERS: PARLEY_AUTH_INTROSPECTION_URL needs the provider that it belongs to");
  for (const { name, jwksUrl } of issuers) {
    const addresses = jwksUrl === undefined ? [name] : [jwksUrl];
    for (const address of addresses) {
      const unsafe = unsafeAddress(address, allowHttp);
      if (unsafe !== undefined) problems.push(`PARLEY_AUTH_ISSUERS: ${JSON.stringify(withoutUser(address))} ${unsafe}`);
    }
  }
  if (new Set(issuers.map(({ name }) => name)).size < issuers.length) problems.push("PARLEY_AUTH_ISSUERS: a provider is named twice");
  const isForMachinesAlone = issuers.length === 0 && apiKeys;
  if (audiences.length === 0 && !isForMachinesAlone) {
    problems.push(
      "PARLEY_AUTH_AUDIENCES: set PARLEY_PUBLIC_URL, or what the aud of tokens for this server holds; a Host header cannot decide that",
    );
  }
  if (publicUrl !== undefined && !/^https?:\/\/[^?#]+$/.test(publicUrl)) {
    problems.push("PARLEY_PUBLIC_URL: must be http:// or https://, without a query or a fragment");
  }
  if (introspection) {
    const unsafe = unsafeAddress(introspection.url, allowHttp);
    if (unsafe !== undefined) problems.push(`PARLEY_AUTH_INTROSPECTION_URL: ${unsafe}`);
    if (introspection.client === "") problems.push("PARLEY_AUTH_INTROSPECTION_CLIENT: PARLEY_AUTH_INTROSPECTION_URL needs it");
    if (introspection.secret === "") problems.push("PARLEY_AUTH_INTROSPECTION_SECRET: PARLEY_AUTH_INTROSPECTION_URL needs it");
  }
  problems.push(...loginProblems(environment, settings));
  if (proxy?.header === "authorization") problems.push("PARLEY_AUTH_PROXY_HEADER: Authorization holds access tokens");
  if (proxy && (proxy.addresses.length === 0 || !addressRanges(proxy.addresses))) {
    problems.push("PARLEY_AUTH_PROXY_ADDRESSES: must be addresses or ranges, such as 10.0.0.5 or 10.0.0.0/8, separated by commas");
  }
  return problems;
}

function loginProblems(
  { PARLEY_PUBLIC_URL: publicUrl, PARLEY_LOGIN_SECRET: secret }: IdentityEnvironment,
  { login, issuers, principal, allowHttp }: IdentitySettings,
): string[] {
  if (!login) return secret === undefined ? [] : ["PARLEY_LOGIN_SECRET: it needs PARLEY_LOGIN_CLIENT"];
  const problems: string[] = [];
  if (issuers.length === 0) problems.push("PARLEY_LOGIN_CLIENT: people log in at one of PARLEY_AUTH_ISSUERS, and there is none");
  if (publicUrl === undefined) problems.push("PARLEY_LOGIN_CLIENT: set PARLEY_PUBLIC_URL, to which the provider sends people back");
  else if (!publicUrl.startsWith("https:") && !isLoopback(new URL(publicUrl).hostname))
    problems.push("PARLEY_LOGIN_CLIENT: PARLEY_PUBLIC_URL must be https, or cookies of those who are logged in could be read on the way");
  if (principal === "user+client") {
    problems.push(
      "PARLEY_LOGIN_CLIENT: with PARLEY_AUTH_PRINCIPAL=user+client a browser is another principal than the client that asks, and would open no page",
    );
  }
  for (const address of login.endpoints ? [login.endpoints.authorization, login.endpoints.token] : []) {
    const unsafe = unsafeAddress(address, allowHttp);
    if (unsafe !== undefined) problems.push(`PARLEY_LOGIN_ENDPOINTS: ${JSON.stringify(withoutUser(address))} ${unsafe}`);
  }
  return problems;
}

function withoutUser(address: string): string {
  return address.replace(/\/\/[^/@]*@/, "//…@");
}
