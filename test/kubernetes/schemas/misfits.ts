import { readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import type { KubernetesObject } from "../render.ts";

const schemas = JSON.parse(readFileSync(new URL("schemas.json", import.meta.url), "utf8")) as Record<string, object>;
const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true, inlineRefs: false });
const validators = new Map<string, ValidateFunction>();

/** What in these objects does not fit the schemas of Kubernetes: fields that are not there, values of another type. */
export function misfits(objects: readonly KubernetesObject[]): string[] {
  return objects.flatMap((object) => {
    const key = `${object.apiVersion}/${object.kind}`;
    const schema = schemas[key];
    if (!schema) return [`there is no schema of ${key}`];
    const validate = validators.get(key) ?? ajv.compile(schema);
    validators.set(key, validate);
    const { kind, metadata } = object;
    if (validate(object)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${kind} ${metadata.name}${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  });
}
