import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Issuer, KEYS_PATH, startIssuer } from "../../../test/support/issuer.ts";
import { checkIdentity } from "./check-identity.ts";

let issuer: Issuer;
beforeEach(async () => {
  issuer = await startIssuer();
  return () => issuer.close();
});

const environment = () => ({ PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: issuer.url, PARLEY_PUBLIC_URL: "http://localhost:3000" });

describe("the doctor of identity", () => {
  test("reports the audience of tokens, that the provider responds, and the caller of a token", async () => {
    const token = await issuer.token({ scope: "tools tasks:read", azp: "claude" });
    const findings = await checkIdentity(environment(), token);
    expect(findings).toEqual([
      { level: "fine", about: "identity", says: "tokens must be for http://localhost:3000/mcp and nothing else" },
      { level: "fine", about: "provider", says: `${issuer.url} publishes 1 key` },
      {
        level: "fine",
        about: "token",
        says: expect.stringMatching(/^accepted for (9|10) min more: .*"names":\["sub:alice"\].*"client":"claude"/),
      },
      { level: "advice", about: "token", says: "it has no scope asks:answer", cure: expect.stringContaining("ask for asks:answer") },
    ]);
    expect(JSON.stringify(findings)).not.toContain(token.split(".")[2]);
  });

  test("reports why the server would refuse a token, and what to do", async () => {
    const wrong = await issuer.token({ aud: "https://other.example" });
    expect((await checkIdentity(environment(), wrong)).at(-1)).toEqual({
      level: "problem",
      about: "token",
      says: expect.stringMatching(/is for "https:\/\/other.example"; expected "http:\/\/localhost:3000\/mcp".*\(TOKEN_AUDIENCE_REFUSED\)$/),
      cure: expect.stringContaining("PARLEY_AUTH_AUDIENCES"),
    });
    const large = await checkIdentity(environment(), "x".repeat(8_193));
    expect(large.at(-1)?.says).toContain("TOKEN_TOO_LARGE");
  });

  test("reports a provider that does not respond", async () => {
    issuer.answer(KEYS_PATH, (_request, response) => void response.writeHead(500).end());
    expect((await checkIdentity(environment())).at(-1)).toEqual({
      level: "problem",
      about: "provider",
      says: expect.stringContaining("HTTP 500 (PROVIDER_UNAVAILABLE)"),
      cure: expect.any(String),
    });
  });

  test("reports invalid settings, and that no identity is required", async () => {
    expect(await checkIdentity({ PARLEY_AUTH: "perhaps" })).toMatchObject([
      { level: "problem", says: expect.stringContaining("PARLEY_AUTH") },
    ]);
    expect(await checkIdentity({ PARLEY_AUTH: "required" })).toMatchObject([{ level: "problem" }, { level: "problem" }]);
    expect(await checkIdentity({})).toMatchObject([{ level: "advice", says: expect.stringContaining("anyone who can reach the port") }]);
  });
});

test("parley doctor --auth --token-file reads the token from a file, and exits with 1 when it would be refused", async () => {
  const directory = mkdtempSync(join(tmpdir(), "parley-token-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "token");
  async function doctor(token: string): Promise<{ readonly code: number | null; readonly said: string }> {
    writeFileSync(file, `${token}\n`);
    const child = spawn(process.execPath, ["apps/cli/main.ts", "doctor", "--auth", "--token-file", file], {
      cwd: resolve(import.meta.dirname, "../../.."),
      env: { PATH: process.env["PATH"], ...environment() },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, said };
  }
  expect(await doctor(await issuer.token())).toEqual({ code: 0, said: expect.stringContaining("✓ token: accepted for") });
  const refused = await doctor("garbage-that-is-nobody's");
  expect(refused).toEqual({ code: 1, said: expect.stringMatching(/✗ token: .*TOKEN_MALFORMED/) });
  expect(refused.said).not.toContain("nobody's");
});
