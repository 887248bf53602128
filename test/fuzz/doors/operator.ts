/** The operator's ports of front ends and workers, and the probes on the front ends' own port. */
import fc from "fast-check";
import type { Door } from "../door.ts";
import type { Due } from "../draw/changes.ts";
import { CONTENT } from "../draw/json.ts";
import { judge } from "../judge.ts";
import { REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken } from "../rules.ts";
import { bytesOf, type Lines } from "../wire/head.ts";
import { exchangeRaw } from "../wire/raw.ts";
import { judgeRaw } from "./headers.ts";

interface Sent {
  readonly port: "operator" | "front end";
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly headers: Lines;
  readonly body: string;
}

const PATHS: readonly string[] = ["/metrics", "/healthz", "/readyz"];
/**
 * Some 60 metrics with all their labels. The largest, request times, has 22 methods, 6 dialects and 4 outcomes in 15 lines of 110 bytes each: 870 kB
 * if all of them occur. A label that callers could add to would soon be more.
 */
const METRICS_BYTES_MAX = 1_500_000;

export const operator: Door<Sent> = {
  name: "operator",
  open(system) {
    let turn = 0;
    async function send(sent: Sent): Promise<void> {
      turn += 1;
      const members = sent.port === "operator" ? system.members.map((member) => member.operator) : system.frontEnds.map(({ url }) => url);
      const { port, host } = new URL(members[turn % members.length]!);
      const lines: Lines = [
        ["host", sent.host.replace("{{host}}", host)],
        ...sent.headers,
        ["content-length", String(Buffer.byteLength(sent.body))],
      ];
      const bytes = bytesOf({ start: `${sent.method} ${sent.target} HTTP/1.1`, lines, body: sent.body });
      const result = await exchangeRaw({
        port: Number(port),
        pieces: [{ bytes }],
        afterwards: "wait",
        replies: sent.method === "HEAD" ? 0 : 1,
        timeoutMs: REPLY_TIMEOUT_MS,
        ...(sent.method === "HEAD" && { quietMs: 10 }),
      });
      if (sent.method === "HEAD") return;
      const kind = `${sent.port} ${PATHS.includes(pathOf(sent.target)) ? pathOf(sent.target) : "elsewhere"}`;
      const changes = sent.headers.map(([name]) => name);
      const expected = { kind, changes, due: dueOf(sent), plain: true, said: bytes.toString("latin1") };
      judgeRaw(result, expected);
      const [response] = result.responses;
      if (!response) return;
      judge(response, expected);
      if (response.bytes > METRICS_BYTES_MAX) throw new Broken("size", { kind, changes, what: `${response.bytes} bytes` });
      if (response.text.includes(CONTENT) && !expected.said.includes(CONTENT))
        throw new Broken("leak", { kind, changes, what: "what callers said is in it" });
    }
    return Promise.resolve({ cases: cases(), send, close: () => undefined });
  },
};

function pathOf(target: string): string {
  return target.replace(/\?.*$/, "");
}

function dueOf({ port, method, target, host, headers }: Sent): Due {
  const path = pathOf(target);
  const named = host.replace(/:\d+$/, "").toLowerCase();
  const foreign = headers.some(
    ([name, value]) => name === "origin" || (name === "sec-fetch-site" && !["none", "same-origin"].includes(value)),
  );
  if (port === "front end") {
    if (path === "/metrics") return "refused";
    // /healthz tells nothing; whose name /readyz answers to is the one thing that differs.
    return PATHS.includes(path) && method === "GET" && !named.includes("evil") ? "accepted" : "any";
  }
  if (foreign || named.includes("evil") || method !== "GET") return "refused";
  return PATHS.includes(path) ? "accepted" : "refused";
}

function cases(): fc.Arbitrary<Sent> {
  const header = fc.constantFrom<readonly [string, string]>(
    ["origin", "http://localhost"],
    ["origin", "http://evil.example"],
    ["origin", ""],
    ["sec-fetch-site", "cross-site"],
    ["sec-fetch-site", "same-site"],
    ["sec-fetch-site", "same-origin"],
    ["sec-fetch-site", "none"],
    ["accept", "application/openmetrics-text"],
    ["accept", "x"],
    ["accept-encoding", "gzip"],
    ["content-type", "application/json"],
    ["x-forwarded-host", "evil.example"],
    ["authorization", "Basic eDp5"],
    ["__proto__", "polluted"],
  );
  return fc.record({
    port: fc.constantFrom("operator" as const, "operator" as const, "front end" as const),
    method: fc.oneof(
      { weight: 5, arbitrary: fc.constant("GET") },
      { weight: 1, arbitrary: fc.constantFrom("HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH") },
    ),
    target: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...PATHS) },
      { weight: 1, arbitrary: fc.constantFrom("/metrics?x=1", "/healthz?__proto__=1", "/readyz?") },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          "/",
          "/metrics/",
          "/METRICS",
          "//metrics",
          "/../metrics",
          "/metrics%00",
          "/etc/passwd",
          "/x".repeat(3_000),
          "/%",
          "/<script>",
          "/debug/pprof",
        ),
      },
    ),
    host: fc.oneof(
      { weight: 4, arbitrary: fc.constant("{{host}}") },
      { weight: 1, arbitrary: fc.constantFrom("evil.example", "evil.example:9464", "localhost.evil.example", "127.0.0.1.evil.example") },
    ),
    headers: fc.uniqueArray(header, { maxLength: 3, selector: ([name]) => name }),
    body: fc.constantFrom("", "", "", "x", "{}"),
  });
}
