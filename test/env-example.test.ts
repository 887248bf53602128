import { readFileSync } from "node:fs";
import { SERVER_SETTINGS } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import { expect, test } from "vitest";

const schemas = { ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape };
const example = readFileSync(new URL("../.env.example", import.meta.url), "utf8");
const settings = [...example.matchAll(/^# (.+)\n(?:# )?([A-Z_]+)=(.*)$/gm)].map(([, description, name = "", value = ""]) => ({
  description,
  name,
  value,
}));

test(".env.example lists every setting once", () => {
  expect(settings.map(({ name }) => name).toSorted()).toEqual(Object.keys(schemas).toSorted());
});

test.each(settings)("$name is described as in its schema, and shown with its default", ({ name, description, value }) => {
  const schema = schemas[name as keyof typeof schemas];
  expect(description).toBe(schema.description);
  if (name !== "REDIS_URL") expect(schema.parse(value === "" ? undefined : value)).toEqual(schema.parse(undefined));
});
