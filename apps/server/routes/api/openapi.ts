/** The description of /api/v1 as OpenAPI 3.1, made from its operations. `npm run generate` writes it to docs/openapi.json. */
import { z } from "zod";
import type { Operation } from "./operation.ts";
import { COMPONENTS, named, violation } from "./shapes.ts";

type Schema = Readonly<Record<string, unknown>>;

export interface OpenApi {
  readonly openapi: "3.1.1";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Schema[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly securitySchemes: Schema };
}

/** An operation in the document. */
export interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Schema[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: true; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

named(
  "Problem",
  z.looseObject({
    status: z.number(),
    detail: z.string().describe("What is wrong, for people"),
    code: z.string().optional().describe("As in docs/errors.md"),
    hint: z.string().optional().describe("What to do about it"),
    violations: z.array(violation).optional(),
  }),
  "A refusal, as RFC 9457 describes it",
);

const REF = "#/components/schemas/";
const refTo = (id: string): Schema => ({ $ref: REF + id });
const GENERAL = {
  default: "Refused: the request is wrong (400), its credentials (401, 403), the caller's quota (429) or this server for now (503)",
};

export function openApi(operations: readonly Operation[]): OpenApi {
  const paths: Record<string, Record<string, Described>> = {};
  for (const each of operations) (paths[each.path] ??= {})[each.method] = described(each);
  return {
    openapi: "3.1.1",
    info: {
      title: "Parley",
      version: "1",
      description:
        "What people are asked, tasks and tools. docs/api.md is the guide. Fields may be added to replies: ignore those that you do not know.",
    },
    servers: [{ url: "/api/v1" }],
    security: [{ token: [] }],
    paths,
    components: {
      schemas: components(),
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "An access token or API key, as for /mcp. Without PARLEY_AUTH=required none is needed",
        },
      },
    },
  };
}

const IDEMPOTENCY_KEY: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "A request with a key is done once: send it again with the same key if its reply was lost",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

function described(of: Operation): Described {
  const { name, summary, description, group, scopes, body, result, status = 200, refusals = {}, method } = of;
  const parameters = [
    ...parametersOf(of.params, "path"),
    ...parametersOf(of.query, "query"),
    ...(method === "post" ? [IDEMPOTENCY_KEY] : []),
  ];
  const content: Content = result
    ? { "application/json": { schema: schemaOf(result) } }
    : { "text/event-stream": { schema: { type: "string" } } };
  const problem = { "application/problem+json": { schema: refTo("Problem") } };
  const refused = Object.entries({ ...refusals, ...GENERAL }).map(([code, why]) => [code, { description: why, content: problem }] as const);
  return {
    operationId: name,
    summary,
    ...(description !== undefined && { description }),
    tags: [group],
    security: [{ token: scopes }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: { "application/json": { schema: schemaOf(body) } } } }),
    responses: {
      [status]: { description: status === 201 ? "Created" : "Done", content },
      ...(method === "get" && result && { 304: { description: "Unchanged since the `ETag` in `If-None-Match`" } }),
      ...Object.fromEntries(refused),
    },
  };
}

function parametersOf(schema: z.ZodObject | undefined, place: "path" | "query"): Parameter[] {
  if (!schema) return [];
  const { properties = {} } = z.toJSONSchema(schema, { io: "input" }) as { properties?: Record<string, Schema> };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === "path",
    ...(typeof description === "string" && { description }),
    schema: rest,
  }));
}

function schemaOf(schema: z.ZodType): Schema {
  const { id } = COMPONENTS.get(schema) ?? {};
  if (id !== undefined) return refTo(id);
  const { $schema: _dialect, ...inline } = z.toJSONSchema(schema, { io: "input" });
  return inline;
}

function components(): Record<string, Schema> {
  const { schemas } = z.toJSONSchema(COMPONENTS, { uri: (id) => REF + id, io: "input" });
  const entries = Object.entries(schemas).map(([id, { $schema: _dialect, $id: _id, ...schema }]) => [id, schema] as const);
  return Object.fromEntries(entries.toSorted(([one], [other]) => one.localeCompare(other, "en")));
}
