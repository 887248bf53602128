/**
 * What a browser can reach: the page at /, the playground with its files, and the timeline of a task. Only the playground's own files are
 * served, and only a task's own address leads to its timeline.
 */
import fc from "fast-check";
import { until } from "../../support/until.ts";
import type { Door } from "../door.ts";
import { type Alteration, altered, alterations, meansTheSame } from "../draw/alter.ts";
import type { Due } from "../draw/changes.ts";
import { judge } from "../judge.ts";
import { LIST_BYTES_MAX, REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken } from "../rules.ts";
import { Caller } from "../wire/caller.ts";
import { bytesOf, type Lines } from "../wire/head.ts";
import { exchangeRaw } from "../wire/raw.ts";
import { judgeRaw } from "./headers.ts";

interface Course {
  readonly of: "course";
  readonly part: "nothing" | "task id" | "cursor";
  readonly alteration: Alteration;
  readonly twice: boolean;
}

interface Address {
  readonly of: "address";
  readonly target: string;
}

type Sent = (Course | Address) & { readonly method: string; readonly host: string; readonly headers: Lines };

const PAGES: readonly string[] = ["/", "/home.css", "/play", "/play/", "/play/index.html"];
/** Of files beside the playground's. */
const FOREIGN = /"workspaces"|"devDependencies"|root:x:0|import .* from "/;
const STATUSES = [206, 304, 308, 412, 416, 421];

export const web: Door<Sent> = {
  name: "web",
  async open(system) {
    const caller = new Caller(system.url);
    const { taskId } = await caller.stateless({ method: "tools/call", params: { name: "reports", arguments: {} } });
    const task = String(taskId);
    let turn = 0;

    /** The cursor that the course of the task ends with, once something was reported. */
    async function cursor(): Promise<string | undefined> {
      const response = await fetch(`${system.frontEnds[0]!.url}/play/api/tasks/${task}/timeline`);
      return ((await response.json()) as { readonly feed?: { readonly cursor?: string } }).feed?.cursor;
    }
    const last = await until(cursor);

    function targetOf(sent: Sent): { readonly target: string; readonly due: Due } {
      if (sent.of === "address") return { target: sent.target, due: PAGES.includes(sent.target) ? "accepted" : "any" };
      const id = sent.part === "task id" ? altered(task, sent.alteration) : task;
      const after = sent.part === "cursor" ? altered(last, sent.alteration) : last;
      const query = `after=${encodeURIComponent(after)}${sent.twice ? "&after=x" : ""}`;
      const due = id === task && !sent.twice ? "accepted" : meansTheSame(id, task) && !sent.twice ? "any" : "refused";
      // A cursor names a place, and another place may be one, too.
      return {
        target: `/play/api/tasks/${encodeURIComponent(id)}/timeline?${query}`,
        due: after === last || due === "refused" ? due : "any",
      };
    }

    async function send(sent: Sent): Promise<void> {
      turn += 1;
      const { url } = system.frontEnds[turn % system.frontEnds.length]!;
      const { port, host } = new URL(url);
      const { target, due } = targetOf(sent);
      const bytes = bytesOf({
        start: `${sent.method} ${target} HTTP/1.1`,
        lines: [["host", sent.host.replace("{{host}}", host)], ...sent.headers],
        body: "",
      });
      const isHead = sent.method === "HEAD";
      const result = await exchangeRaw({
        port: Number(port),
        pieces: [{ bytes }],
        afterwards: "wait",
        replies: isHead ? 0 : 1,
        timeoutMs: REPLY_TIMEOUT_MS,
        ...(isHead && { quietMs: 10 }),
      });
      if (isHead) return;
      const kind = sent.of === "course" ? `course ${sent.part}` : PAGES.includes(sent.target) ? sent.target : "elsewhere";
      const changes = sent.headers.map(([name]) => name);
      const isForeign = sent.host.includes("evil");
      const isPlain = sent.method === "GET" && !isForeign && sent.headers.length === 0;
      const expected = {
        kind,
        changes,
        due: isForeign && due === "accepted" ? ("refused" as const) : isPlain || due === "refused" ? due : ("any" as const),
        plain: true,
        said: bytes.toString("latin1"),
        alsoStatuses: STATUSES,
      };
      judgeRaw(result, expected);
      const [response] = result.responses;
      if (!response) return;
      judge(response, expected);
      const broken = (rule: "leak" | "size" | "shape", what: string) => new Broken(rule, { kind, changes, what });
      if (FOREIGN.test(response.text)) throw broken("leak", "it is a file that is not for browsers");
      if (response.bytes > LIST_BYTES_MAX) throw broken("size", `${response.bytes} bytes`);
      const isPage = response.headers["content-type"]?.startsWith("text/html") === true;
      if (isPage && !/default-src 'none'/.test(String(response.headers["content-security-policy"])))
        throw broken("shape", "a page without a policy");
    }
    return { cases: cases(), send, close: () => caller.close() };
  },
};

function cases(): fc.Arbitrary<Sent> {
  const header = fc.constantFrom<readonly [string, string]>(
    ["accept", "text/html"],
    ["accept", "application/json"],
    ["accept", `text/html${",x/y;q=0.1".repeat(300)}`],
    ["accept-encoding", "gzip, br"],
    ["accept-encoding", "br;q=0, *;q=0"],
    ["range", "bytes=0-10"],
    ["range", `bytes=${"0-1,".repeat(500)}0-1`],
    ["range", "bytes=99999999-"],
    ["if-none-match", "*"],
    ["if-none-match", `W/"${"x".repeat(2_000)}"`],
    ["if-match", '"x"'],
    ["if-modified-since", "yesterday"],
    ["origin", "http://evil.example"],
    ["origin", "null"],
    ["sec-fetch-site", "cross-site"],
    ["sec-fetch-dest", "iframe"],
    ["authorization", "Bearer x"],
    ["cookie", "parley=x; parley=y; __proto__=z"],
    ["x-forwarded-host", "evil.example"],
    ["x-forwarded-prefix", "/evil"],
    ["content-type", "text/html"],
  );
  const climbs = [
    "/play/../package.json",
    "/play/../../package.json",
    "/play/..%2f..%2fpackage.json",
    "/play/%2e%2e/%2e%2e/package.json",
    "/play/..%5c..%5cpackage.json",
    "/play/assets/../../package.json",
    "/play/assets/....//package.json",
    "/play//etc/passwd",
    "/play/%00",
    "/play/index.html%00.js",
    "/play/.%2e/index.ts",
    "/play/index.html/",
    "/play/package.json",
    "/play/index.ts",
    "/play/assets",
    "/play/assets/",
    "/play/CON",
    "//evil.example/play",
    "/\\evil.example/play",
    "/play?x=1",
    "/play/?__proto__=1",
    "/play/#x",
    "/?x=1",
    "/index.html",
    "/home.css?x",
    "/HOME.CSS",
    "/play/api",
    "/play/api/",
    "/play/api/tasks",
    "/play/api/tasks/x/timeline",
    "/play/api/tasks/%zz/timeline",
    "/play/api/tasks/../../timeline",
    "/play/api/tasks//timeline",
    `/play/api/tasks/${"x".repeat(3_000)}/timeline`,
    "/asks",
    "/asks/",
    "/asks/x",
    "/asks/x/",
    "/asks/x/y?k=",
    "/asks/x/y?k=1&k=2",
    "/asks/x/y/z?k[]=1",
    "/asks/%ff/y?k=1",
    "/inbox",
    "/inbox/",
    "/inbox?k=1&k=2",
    "/inbox?cursor=oldest.0..",
    "/inbox?ask=x/y&batch=a/b&batch=c",
    `/inbox?tool=${"x".repeat(3_000)}&closes=__proto__`,
    "/inbox/answered?cursor=x",
    "/inbox/batch",
    "/inbox/changes?k=x",
    "/inbox/%2e%2e/mcp",
    "/pages/",
    "/pages/../index.ts",
    "/api/v1",
    "/api/v1/",
    "/api/v1/reference",
    "/api/v1/openapi.json",
    "/api/v1/asks/%ff",
    "/api/v1/asks/x/..%2f..%2fmcp",
    "/api/v1/..%2f..%2fmcp",
    "/accounts",
    "/accounts/",
    "/accounts/x?grant=1",
    "/approvals",
    "/approvals/",
    "/approvals/x?id=1",
    "/events",
    "/events/",
    "/events/x",
    "/events/a.b.c",
    "/events/%ff",
    "/events/..%2f..%2fmcp",
    `/events/${"x".repeat(3_000)}`,
    "/login",
    "/login/callback?code=x&state=y",
    "/logout",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/favicon.ico",
    `/${"a/".repeat(4_000)}`,
  ];
  const common = {
    method: fc.oneof(
      { weight: 5, arbitrary: fc.constant("GET") },
      { weight: 1, arbitrary: fc.constantFrom("HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH") },
    ),
    host: fc.oneof(
      { weight: 6, arbitrary: fc.constant("{{host}}") },
      { weight: 1, arbitrary: fc.constantFrom("evil.example", "localhost.evil.example", "127.0.0.1.evil.example") },
    ),
    headers: fc.uniqueArray(header, { maxLength: 3, selector: ([name]) => name }),
  };
  return fc.oneof(
    fc.record({
      of: fc.constant("course" as const),
      part: fc.constantFrom("nothing" as const, "task id", "cursor"),
      alteration: alterations(),
      twice: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      ...common,
    }),
    fc.record({
      of: fc.constant("address" as const),
      target: fc.oneof(fc.constantFrom(...PAGES), fc.constantFrom(...climbs)),
      ...common,
    }),
  );
}
