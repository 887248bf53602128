/** Values of the file of upstreams: variables and files that they refer to, and addresses. */
import { readFileSync } from "node:fs";

/** Replaces `${NAME}` and `${file:/path}`. Tells what is wrong with them, never with a value. */
export function fill(value: string, environment: Readonly<Record<string, string | undefined>>, say: (what: string) => void): string {
  if (value.lastIndexOf("${") > value.lastIndexOf("}")) say("has `${` without `}`");
  const [, shellVariable] = /(?:^|\s)\$([A-Z_][A-Z0-9_]*)$/.exec(value) ?? [];
  if (shellVariable !== undefined) say(`has $${shellVariable}, which stays as it is: write \${${shellVariable}} for the variable`);
  return value.replace(/\$\{([^}]*)\}/g, (_, reference: string) => {
    const [, file] = /^file:(.+)$/.exec(reference) ?? [];
    if (file !== undefined) {
      try {
        return readFileSync(file, "utf8").trim();
      } catch (error) {
        say(`\${file:${file}} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})`);
        return "";
      }
    }
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(reference)) {
      say(`\${${reference}} must be a variable, \${NAME}, or a file, \${file:/path}`);
      return "";
    }
    const found = environment[reference];
    if (found === undefined || found === "") say(`\${${reference}} is not set in the environment`);
    return found ?? "";
  });
}

/** Never quotes the address, which may contain a key. `allowHttp` is undefined where no setting allows it. */
export function urlProblem(text: string, allowHttp: boolean | undefined): string | undefined {
  const url = URL.parse(text);
  if (!url) return "must be a URL such as https://host/path";
  if (url.username !== "" || url.password !== "")
    return `must not contain credentials${allowHttp === undefined ? "" : ": put them into `headers`"}`;
  if (url.protocol === "https:" || (url.protocol === "http:" && (allowHttp === true || isLoopback(url.hostname)))) return undefined;
  if (url.protocol !== "http:") return "must be https";
  const permitted = allowHttp === undefined ? "" : "; `allowHttp: true` allows it on a private network";
  return `must be https, or http to this machine${permitted}`;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}
