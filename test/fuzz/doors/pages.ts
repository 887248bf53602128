/**
 * The pages on which people enter secrets and files. Only a valid form settles a question, and only once; a refused form leaves no file
 * behind; nothing that was entered is sent back.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { until } from "../../support/until.ts";
import type { Door } from "../door.ts";
import { type Alteration, altered, alterations, meansTheSame } from "../draw/alter.ts";
import type { Due } from "../draw/changes.ts";
import { CONTENT } from "../draw/json.ts";
import { judge } from "../judge.ts";
import { REPLY_BYTES_MAX, REPLY_TIMEOUT_MS } from "../limits.ts";
import { Broken } from "../rules.ts";
import { FILE_BYTES_MAX, FILES_MAX } from "../tools.ts";
import { Caller, SetUpFailed } from "../wire/caller.ts";
import { Entrance } from "../wire/entrance.ts";
import type { Response } from "../wire/http.ts";

type Asked = "key" | "table";
type Part = "nothing" | "task id" | "question" | "ticket" | "digest" | "token";

interface Given {
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
}

interface Sent {
  readonly asked: Asked;
  readonly method: "GET" | "HEAD" | "POST";
  /** Which of the texts that only the server can make is another one, and how. */
  readonly part: Part;
  readonly alteration: Alteration;
  readonly action: string;
  /** Of the secret. */
  readonly chars: number;
  readonly files: readonly Given[];
  readonly encoding: "as asked" | "the other form" | "json" | "no type" | "cut" | "no boundary" | "files first";
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly more: readonly (readonly [name: string, value: string])[];
}

interface Page {
  readonly taskId: string;
  readonly asked: Asked;
  readonly ticket: string;
  readonly digest: string;
  readonly token: string;
}

const SECRET_CHARS_MAX = 16_384;
const FORM_BYTES_MAX = 151_552;
/** What a page may say besides what every door may; 303 leads from an answer to the next question of the same task. */
const STATUSES = [303, 401, 409, 410, 422];
const BOUNDARY = "fuzz-boundary";

export const pages: Door<Sent> = {
  name: "pages",
  cost: 2,
  async open(system) {
    const entrance = new Entrance(system);
    const caller = new Caller(system.url);
    const open = new Map<Asked, Page>();

    async function read(path: string, method = "GET"): Promise<Response> {
      return await entrance.send({ method, path, headers: {} }, { timeoutMs: REPLY_TIMEOUT_MS, bytesMax: REPLY_BYTES_MAX });
    }

    async function pageOf(asked: Asked): Promise<Page> {
      const known = open.get(asked);
      if (known) return known;
      const { taskId } = await caller.stateless({ method: "tools/call", params: { name: "pages", arguments: {} } });
      let urls: Record<Asked, string> | undefined;
      await until(async () => (urls = urlsOf(await caller.stateless({ method: "tasks/get", params: { taskId: String(taskId) } }))));
      for (const name of ["key", "table"] as const) {
        const { pathname, search, searchParams } = new URL(urls![name]);
        const { text } = await read(pathname + search);
        const fields = new Map([...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, field, value]) => [field, value]));
        const page = {
          taskId: String(taskId),
          asked: name,
          ticket: searchParams.get("k") ?? "",
          digest: fields.get("shown"),
          token: fields.get("token"),
        };
        if (page.digest === undefined || page.token === undefined)
          throw new SetUpFailed(`the page of ${name} has no form: ${text.slice(0, 300)}`);
        open.set(name, page as Page);
      }
      return open.get(asked)!;
    }

    async function keptFor(taskId: string): Promise<number> {
      return (await readdir(join(system.files, taskId)).catch(() => [])).length;
    }

    async function send(sent: Sent): Promise<void> {
      const page = await pageOf(sent.asked);
      const { path, form, due } = draftOf(sent, page);
      const changes = [sent.part, sent.encoding, ...sent.headers.map(([name]) => name)].filter(
        (name) => !["nothing", "as asked"].includes(name),
      );
      const kind = `${sent.method} ${sent.asked}`;
      const request = {
        method: sent.method,
        path,
        headers: { ...(form && { "content-type": form.type }), ...Object.fromEntries(sent.headers) },
        ...(form && { body: form.body }),
      };
      const exchange = () => entrance.send(request, { timeoutMs: REPLY_TIMEOUT_MS, bytesMax: REPLY_BYTES_MAX });
      const expected = { kind, changes, said: path, plain: true, alsoStatuses: STATUSES };
      const broken = (rule: "leak" | "effect" | "shape", what: string) => new Broken(rule, { kind, changes, what });
      const look = (response: Response, dueNow: Due) => {
        judge(response, { ...expected, due: dueNow });
        if (response.text.includes(CONTENT)) throw broken("leak", "what was given is in the page");
        if (/<script|<img/i.test(response.text)) throw broken("leak", "a file's name is markup in the page");
        if (response.status === 303 && !String(response.headers["location"]).startsWith(`/asks/${page.taskId}/`))
          throw broken("shape", `it leads to ${response.headers["location"]}`);
        const policy = String(response.headers["content-security-policy"]);
        if (response.text !== "" && !policy.startsWith("default-src 'none'")) throw broken("shape", `its policy is ${policy}`);
      };
      look(await exchange(), due);
      const settles = due === "accepted" && sent.method === "POST";
      const after = await read(pathOf(page));
      const isOpen = after.text.includes('<input type="hidden"');
      if (due !== "any" && isOpen === settles) throw broken("effect", settles ? "the question is still open" : "the question is settled");
      const kept = await keptFor(page.taskId);
      const expectedFiles =
        settles && sent.asked === "table" && sent.action !== "decline"
          ? sent.files.filter(({ bytes, name }) => bytes > 0 || name !== "").length
          : 0;
      if (due !== "any" && kept !== expectedFiles && sent.asked === "table")
        throw broken("effect", `${kept} files are kept for the task, and not ${expectedFiles}`);
      if (isOpen) return;
      open.clear();
      // Twice: nothing more is taken.
      look(await exchange(), "any");
      if ((await keptFor(page.taskId)) > kept) throw broken("effect", "the second of two equal forms left a file");
    }

    await pageOf("key");
    return {
      cases: cases(),
      // What broke a rule may have settled the question.
      send: (drawn) => send(drawn).catch((error: unknown) => (open.clear(), Promise.reject(error as Error))),
      close() {
        entrance.close();
        caller.close();
      },
    };
  },
};

function urlsOf(task: unknown): Record<Asked, string> | undefined {
  const { inputRequests = {} } = task as { inputRequests?: Record<string, { params: { url: string } }> };
  const [key, table] = [inputRequests["key"]?.params.url, inputRequests["table"]?.params.url];
  return key !== undefined && table !== undefined ? { key, table } : undefined;
}

function pathOf({ taskId, asked, ticket }: { readonly taskId: string; readonly asked: string; readonly ticket: string }): string {
  return `/asks/${encodeURIComponent(taskId)}/${encodeURIComponent(asked)}?k=${encodeURIComponent(ticket)}`;
}

interface Form {
  readonly type: string;
  readonly body: Buffer;
}

function draftOf(sent: Sent, page: Page): { readonly path: string; readonly form?: Form; readonly due: Due } {
  const { method, part, alteration } = sent;
  const of = (name: Part, was: string) => (part === name ? altered(was, alteration) : was);
  const now = {
    taskId: of("task id", page.taskId),
    asked: of("question", page.asked),
    ticket: of("ticket", page.ticket),
    digest: of("digest", page.digest),
    token: of("token", page.token),
  };
  const path = pathOf(now);
  const was = { ...page };
  const alike = (["taskId", "asked", "ticket", "digest", "token"] as const).map((name) =>
    now[name] === was[name] ? "same" : meansTheSame(now[name], was[name]) ? "like" : "other",
  );
  if (alike.includes("like")) return { path, due: "any", ...(method === "POST" && { form: formOf(sent, now) }) };
  const [taskId, asked, ticket, digest, token] = alike;
  const isFound = taskId === "same" && asked === "same" && ticket === "same";
  if (method !== "POST") return { path, due: isFound ? "accepted" : "refused" };
  const isOurs = token === "same" && (digest === "same" || isUpload(sent));
  const isForeign = sent.headers.some(([, value]) => /evil|null|cross-site|same-site/.test(value));
  const isRight = isFound && isOurs && !isForeign && fits(sent);
  return { path, form: formOf(sent, now), due: isRight ? "accepted" : "refused" };
}

function isUpload({ asked, encoding, action }: Sent): boolean {
  return (asked === "table") === (encoding !== "the other form") && action !== "decline";
}

/** Whether it is what the page's own form sends. */
function fits({ asked, encoding, action, chars, files }: Sent): boolean {
  if (encoding !== "as asked") return false;
  // Larger than any form of the page, regardless of its fields.
  if (asked === "key" && chars > FORM_BYTES_MAX) return false;
  if (action === "decline") return true;
  if (action !== "accept") return false;
  if (asked === "key") return chars > 0 && chars <= SECRET_CHARS_MAX;
  const chosen = files.filter(({ name, bytes }) => name !== "" || bytes > 0);
  // The bytes of a picture would show that it is one.
  const isTable = ({ name, type }: Given) => type === "text/csv" || (name.endsWith(".csv") && type !== "image/png");
  const isTaken = (file: Given) => file.bytes <= FILE_BYTES_MAX && isTable(file);
  return chosen.length > 0 && files.length <= FILES_MAX && chosen.every(isTaken);
}

function formOf(sent: Sent, { digest, token }: Pick<Page, "digest" | "token">): Form {
  const { asked, encoding, action, chars, files, more } = sent;
  const secret = chars === 0 ? "" : `${CONTENT}${"x".repeat(chars)}`.slice(0, chars);
  const fields: (readonly [string, string])[] = [
    ["shown", digest],
    ["token", token],
    ["action", action],
    ...(asked === "key" ? [["secret", secret] as const] : []),
    ...more,
  ];
  // A page for files declines by a form of its own.
  const isMultipart = (asked === "table" && action !== "decline") !== (encoding === "the other form");
  if (encoding === "json") return { type: "application/json", body: Buffer.from(JSON.stringify(Object.fromEntries(fields))) };
  if (!isMultipart) {
    const text = new URLSearchParams(fields.map(([name, value]): [string, string] => [name, value])).toString();
    const type =
      encoding === "no type"
        ? ""
        : encoding === "no boundary" || encoding === "cut" || encoding === "files first"
          ? "text/plain"
          : "application/x-www-form-urlencoded";
    return { type, body: Buffer.from(text) };
  }
  const ofField = ([name, value]: readonly [string, string]) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}\r\n`;
  const ofFile = ({ name, type, bytes }: Given) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="${quoted(name)}"\r\ncontent-type: ${type}\r\n\r\n${`${CONTENT},`.repeat(Math.ceil(bytes / 7)).slice(0, bytes)}\r\n`;
  const parts = [fields.slice(0, 3).map(ofField).join(""), files.map(ofFile).join(""), fields.slice(3).map(ofField).join("")];
  const whole = `${(encoding === "files first" ? parts.toReversed() : parts).join("")}--${BOUNDARY}--\r\n`;
  return {
    type: encoding === "no type" ? "" : encoding === "no boundary" ? "multipart/form-data" : `multipart/form-data; boundary=${BOUNDARY}`,
    body: Buffer.from(encoding === "cut" ? whole.slice(0, whole.length - BOUNDARY.length) : whole),
  };
}

/** As browsers do it. */
function quoted(name: string): string {
  return name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function cases(): fc.Arbitrary<Sent> {
  const rarely = <T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
    fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 2, arbitrary: other });
  const file = fc.record({
    name: rarely(
      "a.csv",
      fc.constantFrom(
        "../../etc/passwd.csv",
        "<script>alert(1)</script>.csv",
        '"><img src=x>.csv',
        "x".repeat(300) + ".csv",
        "\u202evsc.exe",
        "a.exe",
        "",
        "a\r\nb: c.csv",
        "con.csv",
        "\u0000a.csv",
      ),
    ),
    type: fc.constantFrom("text/csv", "application/octet-stream", "image/png", "text/html"),
    bytes: rarely(20, fc.constantFrom(0, 1, FILE_BYTES_MAX, FILE_BYTES_MAX + 1, 60_000)),
  });
  return fc.record({
    asked: fc.constantFrom<Asked>("key", "table"),
    method: fc.constantFrom("GET" as const, "HEAD", "POST", "POST", "POST", "POST"),
    part: rarely<Part>("nothing", fc.constantFrom<Part>("task id", "question", "ticket", "digest", "token")),
    alteration: alterations(),
    action: rarely("accept", fc.constantFrom("decline", "cancel", "", "__proto__")),
    chars: rarely(20, fc.constantFrom(0, 1, SECRET_CHARS_MAX, SECRET_CHARS_MAX + 1, 60_000, 200_000)),
    files: rarely([{ name: "a.csv", type: "text/csv", bytes: 20 }] as readonly Given[], fc.array(file, { maxLength: FILES_MAX + 1 })),
    encoding: rarely<Sent["encoding"]>(
      "as asked",
      fc.constantFrom("the other form", "json", "no type", "cut", "no boundary", "files first"),
    ),
    headers: rarely<Sent["headers"]>(
      [],
      fc.uniqueArray(
        fc.constantFrom(
          ["origin", "http://evil.example"] as const,
          ["origin", "null"] as const,
          ["sec-fetch-site", "cross-site"] as const,
          ["sec-fetch-site", "same-site"] as const,
          ["sec-fetch-site", "same-origin"] as const,
          ["sec-fetch-site", "none"] as const,
          ["cookie", "parley=x; __proto__=1"] as const,
          ["accept-language", "xx"] as const,
        ),
        { maxLength: 2, selector: ([name]) => name },
      ),
    ),
    more: rarely<Sent["more"]>(
      [],
      fc.array(
        fc.constantFrom(["action", "decline"] as const, ["token", "x"] as const, ["__proto__", "x"] as const, ["secret", CONTENT] as const),
        { maxLength: 3 },
      ),
    ),
  });
}
