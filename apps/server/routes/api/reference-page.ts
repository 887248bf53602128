/** An OpenAPI document as a page: each operation with its parameters, body and replies, and each schema. */
import type { Described, OpenApi, Parameter } from "./openapi.ts";

type Schema = Readonly<Record<string, unknown>>;

export function referencePage({ info, paths, components, servers }: OpenApi): string {
  const base = servers[0]?.url ?? "";
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ method: method.toUpperCase(), path, ...each })),
  );
  const groups = Map.groupBy(operations, ({ tags: [group = ""] }) => group);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(info.title)} API</title>
<link rel="stylesheet" href="../../home.css">
<link rel="stylesheet" href="reference.css">
<link rel="icon" href="data:,">
<main>
<h1>${escaped(info.title)} API</h1>
<p class="lead">${inline(info.description)}</p>
<p>The same for programs: <a href="openapi.json">openapi.json</a>, OpenAPI 3.1.</p>
<nav aria-label="Operations">
${[...groups].map(([group, all]) => `<h2>${escaped(group)}</h2>\n<ul>\n${all.map(linkTo).join("\n")}\n</ul>`).join("\n")}
</nav>
${[...groups].map(([group, all]) => `<h2>${escaped(group)}</h2>\n${all.map((each) => operationShown(base, each)).join("\n")}`).join("\n")}
<h2>Objects</h2>
${Object.entries(components.schemas).map(schemaSection).join("\n")}
</main>
</html>
`;
}

type Shown = Described & { readonly method: string; readonly path: string };

const linkTo = ({ operationId, method, path }: Shown) => `<li><a href="#${operationId}"><code>${method} ${escaped(path)}</code></a></li>`;

function operationShown(base: string, of: Shown): string {
  const { operationId, method, path, summary, description, parameters = [], requestBody, responses, security } = of;
  const scopes = security.flatMap(({ token }) => token as readonly string[]);
  return `<section id="${operationId}">
<h3><code>${method} ${escaped(base + path)}</code></h3>
<p>${inline(summary)}.${description === undefined ? "" : ` ${inline(description)}`}</p>
<p class="quiet">${scopes.length === 0 ? "Needs no scope." : `Needs the scope ${scopes.map((scope) => `<code>${escaped(scope)}</code>`).join(" and ")}.`} Named <code>${operationId}</code>.</p>
${parameters.length === 0 ? "" : table(["Parameter", "Type", "Meaning"], parameters.map(parameterRow))}
${
  requestBody
    ? `<p>Body: ${Object.values(requestBody.content)
        .map(({ schema }) => typeOf(schema))
        .join(" or ")}</p>`
    : ""
}
${table(
  ["Reply", "Body", "Meaning"],
  Object.entries(responses).map(([status, { description: meaning, content = {} }]) => [
    `<code>${status}</code>`,
    Object.values(content)
      .map(({ schema }) => typeOf(schema))
      .join(" or "),
    inline(meaning),
  ]),
)}
</section>`;
}

function parameterRow({ name, in: place, required, description = "", schema }: Parameter): string[] {
  const where = place === "query" ? "" : place === "path" ? " in the address" : " header";
  const fallback = schema["default"] === undefined ? "" : ` ${escaped(JSON.stringify(schema["default"]))} by default.`;
  return [
    `<code>${escaped(name)}</code>${where}`,
    typeOf(schema),
    `${inline(description)}${required && place !== "path" ? " Required." : ""}${fallback}`,
  ];
}

function schemaSection([id, schema]: readonly [string, Schema]): string {
  const properties = schema["properties"] as Readonly<Record<string, Schema>> | undefined;
  const required = new Set(schema["required"] as readonly string[] | undefined);
  const about = typeof schema["description"] === "string" ? `<p>${inline(schema["description"])}.</p>\n` : "";
  const rows = Object.entries(properties ?? {}).map(([name, member]) => [
    `<code>${escaped(name)}</code>${required.has(name) ? "" : " optional"}`,
    typeOf(member),
    typeof member["description"] === "string" ? inline(member["description"]) : "",
  ]);
  return `<section id="${id}">
<h3>${escaped(id)}</h3>
${about}${properties ? table(["Member", "Type", "Meaning"], rows) : `<p>${typeOf(schema)}</p>`}
</section>`;
}

/** A schema in a few words. References are links. */
function typeOf(schema: Schema): string {
  const { $ref, type, const: constant } = schema;
  const alternatives = (schema["anyOf"] ?? schema["oneOf"]) as readonly Schema[] | undefined;
  if (typeof $ref === "string") {
    const id = escaped($ref.slice($ref.lastIndexOf("/") + 1));
    return `<a href="#${id}">${id}</a>`;
  }
  if (alternatives) return alternatives.map(typeOf).join(" or ");
  if (constant !== undefined) return `<code>${escaped(JSON.stringify(constant))}</code>`;
  const options = schema["enum"] as readonly unknown[] | undefined;
  if (options) return options.map((option) => `<code>${escaped(JSON.stringify(option))}</code>`).join(" or ");
  if (type === "array") return `list of ${typeOf((schema["items"] ?? {}) as Schema)}`;
  if (type === "object") return objectOf(schema);
  if (schema["format"] === "date-time") return "time";
  if (type === "integer" || type === "number") return boundsOf(schema);
  return type === "string" ? "text" : type === "boolean" ? "true or false" : "anything";
}

function objectOf({ properties }: { readonly properties?: unknown }): string {
  const members = Object.entries((properties ?? {}) as Readonly<Record<string, Schema>>);
  if (members.length === 0) return "object";
  return `{ ${members.map(([name, member]) => `<code>${escaped(name)}</code>: ${typeOf(member)}`).join(", ")} }`;
}

function boundsOf({ minimum, maximum }: Schema): string {
  const isBounded = typeof minimum === "number" && typeof maximum === "number" && Math.abs(minimum) < Number.MAX_SAFE_INTEGER;
  return isBounded ? `number from ${minimum} to ${maximum}` : "number";
}

const table = (
  heads: readonly string[],
  rows: readonly (readonly string[])[],
) => `<div class="wide" tabindex="0" role="region" aria-label="${heads[0]}"><table>
<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead>
<tbody>
${rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("\n")}
</tbody>
</table></div>`;

/** Text in which backticks mark code. */
const inline = (text: string) => escaped(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** Beside that of the start page. */
export const STYLE = `main { max-width: 60rem; }
h3 { margin: 2.5rem 0 0.5rem; font-size: 1rem; overflow-wrap: anywhere; }
nav ul { margin: 0; padding: 0; list-style: none; }
code { font: 0.9em/1.5 ui-monospace, monospace; }
.wide { overflow-x: auto; }
.wide:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
table { width: 100%; border-collapse: collapse; font-size: 0.95rem; margin: 0.75rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 1rem 0.4rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; }
section:target h3 { color: var(--accent); }
`;
