/** The `login` profile of docker-compose.yml, without Docker: what it publishes, and that its two parts match. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface Service {
  readonly profiles?: readonly string[];
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: readonly { readonly path: string }[];
}
const { services } = parse(read("docker-compose.yml"), { merge: true }) as { readonly services: Readonly<Record<string, Service>> };
const settings = new Map(
  [...read("deploy/provider/try.env").matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
);

test("nothing of the deployment, with a provider or without, is published beyond this machine", () => {
  const published = Object.entries(services).flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${port}`));
  expect(published.length).toBeGreaterThan(0);
  for (const port of published) expect(port).toMatch(/^\S+ (\$\{[A-Z_]+:-)?127\.0\.0\.1:/);
});

test("the provider runs only with the profile, and front ends and workers take the settings that require a login", () => {
  const provider = Object.values(services).filter(({ profiles = [] }) => profiles.includes("login"));
  expect(provider).toHaveLength(1);
  for (const name of ["server", "worker"]) expect(services[name]?.env_file?.map(({ path }) => path)).toEqual([".env"]);
  expect(settings.get("PARLEY_AUTH")).toBe("required");
  // Who issues tokens, and for which server, both sides say alike.
  const { ISSUER, RESOURCE } = provider[0]?.environment ?? {};
  expect(settings.get("PARLEY_AUTH_ISSUERS")?.split(" ")[0]).toBe(ISSUER);
  expect(RESOURCE).toBe(`\${PARLEY_PUBLIC_URL:-${settings.get("PARLEY_PUBLIC_URL")}}/mcp`);
});
