import { addressRanges, isLoopback, unsafeAddress } from "./address.ts";
import { type IdentityEnvironment, type IdentitySettings, identitySettings } from "./settings.ts";

/** Contradictions in the settings, one sentence each: settings that need each other, and settings that conflict with the listen address. */
export function identityProblems(environment: IdentityEnvironment, host: string): readonly string[] {
  const settings = identitySettings(environment);
  if (!settings) {
    if (isLoopback(host) || environment.PARLEY_AUTH_NONE_ANYWHERE) return [];
    return [
      `PARLEY_AUTH: with none, anyone who can reach ${host} could see and answer all questions. Set PARLEY_AUTH=required and PARLEY_AUTH_ISSUERS, ` +
        "or PARLEY_HOST=127.0.0.1, or, if a network or a proxy keeps strangers out, PARLEY_AUTH_NONE_ANYWHERE=true",
    ];
  }
  const problems: string[] = [];
  const { issuers, audiences, introspection, proxy, apiKeys, allowHttp } = settings;
  if (issuers.length === 0 && !apiKeys) {
    problems.push(
      "PARLEY_AUTH_ISSUERS: PARLEY_AUTH=required needs a provider where people log in, or PARLEY_AUTH_API_KEYS=true for machines only",
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
  if (new Set(issuers.map(({ name }) => name)).size < issuers.length) problems.push("PARLEY_AUTH_ISSUERS: a provider is listed twice");
  problems.push(...tenantProblems(environment, settings));
  const isForMachinesOnly = issuers.length === 0 && apiKeys;
  if (audiences.length === 0 && !isForMachinesOnly) {
    problems.push(
      "PARLEY_AUTH_AUDIENCES: set PARLEY_PUBLIC_URL, or the aud of tokens for this server; the Host header cannot be trusted to tell",
    );
  }
  if (introspection) {
    const unsafe = unsafeAddress(introspection.url, allowHttp);
    if (unsafe !== undefined) problems.push(`PARLEY_AUTH_INTROSPECTION_URL: ${unsafe}`);
    if (introspection.client === "") problems.push("PARLEY_AUTH_INTROSPECTION_CLIENT: required by PARLEY_AUTH_INTROSPECTION_URL");
    if (introspection.secret === "") problems.push("PARLEY_AUTH_INTROSPECTION_SECRET: required by PARLEY_AUTH_INTROSPECTION_URL");
  }
  problems.push(...loginProblems(environment, settings));
  if (proxy?.header === "authorization") problems.push("PARLEY_AUTH_PROXY_HEADER: must not be Authorization, which carries access tokens");
  if (proxy && (proxy.addresses.length === 0 || !addressRanges(proxy.addresses))) {
    problems.push("PARLEY_AUTH_PROXY_ADDRESSES: must be addresses or ranges, such as 10.0.0.5 or 10.0.0.0/8, separated by commas");
  }
  return problems;
}

function tenantProblems({ PARLEY_AUTH_ISSUER_TENANTS: given }: IdentityEnvironment, settings: IdentitySettings): string[] {
  const { issuers, tenantClaim, issuerTenants } = settings;
  const name = "PARLEY_AUTH_ISSUER_TENANTS";
  if (tenantClaim === undefined) return given.length === 0 ? [] : [`${name}: requires PARLEY_AUTH_TENANT_CLAIM`];
  const problems: string[] = [];
  if (issuerTenants.size < given.length) problems.push(`${name}: a provider is listed twice`);
  for (const [issuer, tenants] of issuerTenants) {
    if (!issuers.some((each) => each.name === issuer))
      problems.push(`${name}: ${JSON.stringify(withoutUser(issuer))} is not in PARLEY_AUTH_ISSUERS`);
    else if (tenants !== "any" && (tenants.length === 0 || tenants.includes("*")))
      problems.push(`${name}: after ${JSON.stringify(withoutUser(issuer))}, name its tenants separated by spaces, or only * for any`);
  }
  const unbound = issuers.filter(({ name: issuer }) => !issuerTenants.has(issuer));
  // Each issuer could name people of the other's tenants. A single one is asked for all of them.
  if (issuers.length > 1)
    problems.push(
      ...unbound.map(({ name: issuer }) => `${name}: say which tenants ${JSON.stringify(withoutUser(issuer))} may name, or * for any`),
    );
  return problems;
}

function loginProblems(
  { PARLEY_PUBLIC_URL: publicUrl, PARLEY_LOGIN_SECRET: secret }: IdentityEnvironment,
  { login, issuers, principal, allowHttp }: IdentitySettings,
): string[] {
  if (!login) return secret === undefined ? [] : ["PARLEY_LOGIN_SECRET: requires PARLEY_LOGIN_CLIENT"];
  const problems: string[] = [];
  if (issuers.length === 0) problems.push("PARLEY_LOGIN_CLIENT: set PARLEY_AUTH_ISSUERS, since people log in at the first of them");
  if (publicUrl === undefined)
    problems.push("PARLEY_LOGIN_CLIENT: set PARLEY_PUBLIC_URL, the address to which the provider sends people back");
  else if (!publicUrl.startsWith("https:") && !isLoopback(new URL(publicUrl).hostname))
    problems.push("PARLEY_LOGIN_CLIENT: PARLEY_PUBLIC_URL must be https; otherwise login cookies could be read in transit");
  if (principal === "user+client") {
    problems.push(
      "PARLEY_LOGIN_CLIENT: does not work with PARLEY_AUTH_PRINCIPAL=user+client: a browser is a different principal than the client that called the tool, and could open no page",
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
