import { readEnvironment, SettingsError } from "@parley/node";
import { expect, test } from "vitest";
import { SERVER_SETTINGS, serverConfig } from "./config.ts";

const REDIS_URL = "redis://localhost:6379";

test("the defaults serve the gallery to this machine only", () => {
  const config = serverConfig(readEnvironment(SERVER_SETTINGS, { REDIS_URL }));
  expect(config).toMatchObject({
    host: "127.0.0.1",
    port: 3000,
    tools: ["@parley/gallery"],
    allowedHosts: ["localhost", "127.0.0.1", "[::1]"],
    secrets: [],
  });
});

test.each([
  [{}, 3000],
  [{ PORT: "8080" }, 8080],
  [{ PORT: "8080", PARLEY_PORT: "" }, 8080],
  [{ PORT: "8080", PARLEY_PORT: "4000" }, 4000],
  [{ PORT: "8080", PARLEY_PORT: "0" }, 0],
])("with %o it listens on %i", (environment, port) => {
  expect(serverConfig(readEnvironment(SERVER_SETTINGS, { REDIS_URL, ...environment })).port).toBe(port);
});

test("durations have units, lists have commas, and the config is deeply frozen", () => {
  const environment = {
    REDIS_URL,
    PARLEY_CALL_TIMEOUT: "90s",
    PARLEY_TOOLS: "./a.ts, ./b.ts",
    PARLEY_SECRET: `${"x".repeat(32)},${"y".repeat(32)}`,
  };
  const config = serverConfig(readEnvironment(SERVER_SETTINGS, environment));
  expect(config).toMatchObject({ tools: ["./a.ts", "./b.ts"], times: { callTimeoutMs: 90_000 } });
  expect(config.secrets).toHaveLength(2);
  expect(() => Object.assign(config.times, { callTimeoutMs: 1 })).toThrow(TypeError);
});

test("all problems are reported at once, each with the name of its setting", () => {
  const environment = {
    REDIS_URL: "http://nowhere",
    PARLEY_PORT: "70000",
    PORT: "tcp://10.0.0.1:3000",
    PARLEY_CALL_TIMEOUT: "soon",
    PARLEY_SECRET: "short",
    PARLEY_WAITS_MAX: "0",
    PARLEY_ASK_URL_SCHEMES: "https,javascript",
  };
  try {
    readEnvironment(SERVER_SETTINGS, environment);
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError);
    const { problems } = error as SettingsError;
    for (const name of Object.keys(environment)) expect(problems.join("\n")).toContain(`${name}:`);
  }
});

test.each([
  ["PARLEY_ALLOWED_HOSTS", "https://parley.example.com"],
  ["PARLEY_ALLOWED_HOSTS", "parley.example.com/"],
  ["PARLEY_ALLOWED_HOSTS", "localhost, parley.*.com"],
  ["PARLEY_ALLOWED_HOSTS", "::1"],
  ["PARLEY_ALLOWED_HOSTS", "parley.example.com:https"],
  ["PARLEY_ALLOWED_ORIGINS", "app.example.com"],
  ["PARLEY_ALLOWED_ORIGINS", "https://app.example.com/"],
  ["PARLEY_ALLOWED_ORIGINS", "https://*.example.com"],
])("%s cannot be %s, which no request would match", (name, value) => {
  const wrong = value.split(", ").at(-1);
  const message = `${name}: ${JSON.stringify(wrong)} is not ${name.endsWith("HOSTS") ? "a host" : "an origin"}: `;
  expect(() => readEnvironment(SERVER_SETTINGS, { REDIS_URL, [name]: value })).toThrow(message);
});

test.each([
  ["PARLEY_ALLOWED_HOSTS", "*"],
  ["PARLEY_ALLOWED_HOSTS", "*.example.com, *.example.com:8443, parley, parley:3000, 127.0.0.1, 10.0.0.1:3000, [::1], [::1]:3000"],
  ["PARLEY_ALLOWED_ORIGINS", "*"],
  ["PARLEY_ALLOWED_ORIGINS", "https://app.example.com, http://localhost:5173, http://[::1], null, vscode-webview://1a2b, file://"],
])("%s can be %s", (name, value) => {
  expect(readEnvironment(SERVER_SETTINGS, { REDIS_URL, [name]: value })).toMatchObject({ [name]: value.split(", ") });
});

test.each(["javascript", "data", "https:", "HTTPS", "https, file", "a b"])("no page can have the scheme %s", (schemes) => {
  expect(() => readEnvironment(SERVER_SETTINGS, { REDIS_URL, PARLEY_ASK_URL_SCHEMES: schemes })).toThrow(/PARLEY_ASK_URL_SCHEMES: must/);
});

test("schemes and names of secrets are lists", () => {
  const environment = { REDIS_URL, PARLEY_ASK_URL_SCHEMES: "https, vscode", PARLEY_SECRET_NAMES: "vault code, -token" };
  const { core } = serverConfig(readEnvironment(SERVER_SETTINGS, environment));
  expect(core).toMatchObject({ askUrlSchemes: ["https", "vscode"], secretNames: ["vault code", "-token"] });
});

test("every setting of the front end has a description", () => {
  for (const [name, setting] of Object.entries(SERVER_SETTINGS.shape)) {
    if (name.startsWith("PARLEY_SHUTDOWN") || name.endsWith("_MAX")) expect(setting.description, name).toMatch(/\.$/);
  }
});

test("the operator's port cannot be that of clients on one address", () => {
  const configured = (environment: NodeJS.ProcessEnv) => () =>
    serverConfig(readEnvironment(SERVER_SETTINGS, { REDIS_URL, PARLEY_AUTH_NONE_ANYWHERE: "true", ...environment }));
  const problem =
    "PARLEY_METRICS_PORT: 8080 is the port of clients (PARLEY_PORT, or PORT), who must not reach the operator's port: choose another one";
  expect(configured({ PORT: "8080", PARLEY_METRICS_PORT: "8080" })).toThrow(problem);
  expect(configured({ PARLEY_PORT: "8080", PARLEY_HOST: "0.0.0.0", PARLEY_METRICS_PORT: "8080" })).toThrow(problem);
  for (const fine of [
    { PARLEY_PORT: "0", PARLEY_METRICS_PORT: "0" },
    { PORT: "8080", PARLEY_PORT: "8081", PARLEY_METRICS_PORT: "8080" },
    { PARLEY_PORT: "8080", PARLEY_METRICS_PORT: "8080", PARLEY_METRICS_HOST: "10.0.0.7" },
  ])
    expect(configured(fine)).not.toThrow();
});

test("a lease that would expire before it is renewed is refused, and so are comments that would fill every stream", () => {
  const configured = (environment: NodeJS.ProcessEnv) => () =>
    serverConfig(readEnvironment(SERVER_SETTINGS, { REDIS_URL, ...environment }));
  expect(configured({ PARLEY_LEASE: "1s" })).toThrow("PARLEY_LEASE: 1000 ms is not longer than PARLEY_RENEW_EVERY, 2000 ms");
  expect(configured({ PARLEY_KEEP_ALIVE: "15ms" })).toThrow('PARLEY_KEEP_ALIVE: "15ms" is too short: give at least 1s');
});
