/**
 * Schemas that several operations share. Those that `named` registers are components of the OpenAPI document, under
 * their names.
 */
import { z } from "zod";

/** Every named schema. */
export const COMPONENTS = z.registry<{ readonly id: string; readonly description?: string }>();

export function named<Schema extends z.ZodType>(id: string, schema: Schema, description?: string): Schema {
  COMPONENTS.add(schema, { id, ...(description !== undefined && { description }) });
  return schema;
}

/** A text from a request. The message says what is wrong, after the name of the member. */
export const text = (max: number, min = 0) =>
  z
    .string({ error: "must be a text" })
    .min(min, { error: min === 1 ? "must not be empty" : `must have at least ${min} characters` })
    .max(max, { error: `must have at most ${max} characters` });

export const oneOf = <const Options extends readonly [string, ...string[]]>(options: Options) =>
  z.enum(options, { error: `must be one of ${options.join(", ")}` });

const A_TIME = "must be a time, such as 2026-12-24T18:00:00Z";

/** A time in a request, in any form that Date reads. */
export const givenTime = z
  .string({ error: A_TIME })
  .refine((value) => !Number.isNaN(Date.parse(value)), { error: A_TIME })
  .meta({ format: "date-time" });

/** A time in a reply. */
export const time = z.string().meta({ format: "date-time" });
export const timeOf = (ms: number): string => new Date(ms).toISOString();

export const PAGE_DEFAULT = 50;
export const PAGE_MAX = 100;

export const limit = z.coerce
  .number({ error: `must be a number from 1 to ${PAGE_MAX}` })
  .int({ error: `must be a number from 1 to ${PAGE_MAX}` })
  .min(1, { error: `must be a number from 1 to ${PAGE_MAX}` })
  .max(PAGE_MAX, { error: `must be a number from 1 to ${PAGE_MAX}` })
  .default(PAGE_DEFAULT)
  .describe("Entries per page");
export const cursor = z.string().optional().describe("`nextCursor` of the page before, in the same order and with the same filters");
export const nextCursor = z.string().optional().describe("Absent on the last page");

/** Any JSON object. */
export const anyObject = z.record(z.string(), z.unknown());

const person = { principal: z.string(), isCaller: z.boolean().describe("Whether this is the caller") };

export const owner = named(
  "Owner",
  z.object({
    ...person,
    name: z
      .string()
      .optional()
      .describe(
        "What the person who made the call was called then. For people to read: several may have the same. Absent where callers are not identified, and in calls to earlier versions",
      ),
    email: z.string().optional().describe("The address that the identity provider has verified; absent if it has not"),
    subject: z.string().optional().describe("The subject at the identity provider; absent for a machine with an API key"),
  }),
);

export const answerer = named(
  "Answerer",
  z.object({
    ...person,
    name: z.string().optional().describe("What the person was called when they did it. For people to read: several may have the same"),
  }),
);

export const toolTitle = z.string().optional().describe("What people read as the name of the tool; absent if it has no title");

export const violation = named(
  "Violation",
  z.object({
    path: z.string().describe("JSON Pointer to the wrong field; empty for the whole answer"),
    message: z.string(),
    label: z.string().optional().describe("Title of the field"),
  }),
);
