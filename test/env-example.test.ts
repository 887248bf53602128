import { readFileSync } from "node:fs";
import { readEnvironment, SettingsError } from "@parley/node";
import { SERVER_SETTINGS, serverConfig } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const schemas = { ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape };
const [ofProcesses = "", ofCompose = ""] = read(".env.example").split("# ── docker-compose.yml ──");
const settingsIn = (text: string) =>
  [...text.matchAll(/^# (.+)\n(?:# )?([A-Z_]+)=(.*)$/gm)].map(([, description, name = "", value = ""]) => ({ description, name, value }));
const settings = settingsIn(ofProcesses);

test(".env.example lists every setting once", () => {
  expect(settings.map(({ name }) => name).toSorted()).toEqual(Object.keys(schemas).toSorted());
});

test.each(settings)("$name is described as in its schema, and shown with its default", ({ name, description, value }) => {
  const schema = schemas[name as keyof typeof schemas];
  expect(description).toBe(schema.description);
  if (name !== "REDIS_URL") expect(schema.parse(value === "" ? undefined : value)).toEqual(schema.parse(undefined));
});

describe("a duration without a unit", () => {
  const accepts = (schema: { safeParse(text: string): { success: boolean } }, text: string) => schema.safeParse(text).success;
  const durations = Object.entries(schemas).filter(([, schema]) => accepts(schema, "30s") && !accepts(schema, "soon"));

  test("is possible in the settings that are shown with a unit", () => {
    const shown = settings.filter(({ value }) => /^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/.test(value));
    expect(durations.map(([name]) => name).toSorted()).toEqual(shown.map(({ name }) => name).toSorted());
    expect(durations.length).toBeGreaterThan(40);
  });

  test.each(durations)("is refused in %s, with what to write instead", (name, schema) => {
    expect(() => readEnvironment(z.object({ [name]: schema }), { [name]: "3600" })).toThrow(
      new SettingsError([`${name}: "3600" has no unit: write 3600s for seconds, or 3600 with ms, m, h or d`]),
    );
  });
});

test("the test of the provider of docker-compose.yml matches it, and is for the resource that it issues tokens for", () => {
  const given = Object.fromEntries(
    [...read("deploy/provider/try.env").matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining(Object.keys(given)));
  const { identity } = serverConfig(SERVER_SETTINGS.parse({ REDIS_URL: "redis://localhost", PARLEY_HOST: "0.0.0.0", ...given }));
  const { services } = parse(read("docker-compose.yml"), { merge: true }) as {
    services: { provider: { environment: Record<string, string> } };
  };
  const { ISSUER, RESOURCE = "" } = services.provider.environment;
  const resource = RESOURCE.replace(/\$\{(\w+):-[^}]*\}/, (_variable, name: string) => given[name] ?? "");
  expect(identity).toMatchObject({ issuers: [{ name: ISSUER, jwksUrl: "http://provider:3002/jwks" }], audiences: [resource] });
});

describe("docker-compose.yml", () => {
  const compose = read("docker-compose.yml");

  test("reads no variable that .env.example does not have, and has the defaults that are shown there", () => {
    const read = [...compose.matchAll(/\$\{([A-Z_]+):-([^}]*)\}/g)].map(([, name = "", value = ""]) => ({ name, value }));
    const shown = [
      ...settingsIn(ofCompose).map(({ name, value }) => ({ name, value })),
      // A setting of Parley's own that the provider follows; what else is unset there is what try.env sets.
      { name: "PARLEY_PUBLIC_URL", value: "http://localhost:3000" },
    ];
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    expect(read.toSorted(byName)).toEqual(shown.toSorted(byName));
    expect(compose.match(/\$\{/g)).toHaveLength(shown.length);
  });

  test("runs the version that is in package.json, and other images by their digest", () => {
    const { version } = JSON.parse(read("package.json")) as { version: string };
    const { services } = parse(compose, { merge: true }) as { services: Record<string, { image: string }> };
    for (const [service, { image }] of Object.entries(services)) {
      if (service === "server" || service === "worker") expect(image).toBe(`parley:\${PARLEY_VERSION:-${version}}`);
      else if (service === "provider") expect(image).toBe("parley-provider");
      else expect(image).toMatch(/@sha256:[0-9a-f]{64}\}$/);
    }
    expect(Object.keys(services)).toHaveLength(8);
  });
});
