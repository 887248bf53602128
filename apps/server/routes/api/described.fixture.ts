/** Whether replies of /api/v1 are as the OpenAPI document says, for tests. */
import { expect } from "vitest";
import { z } from "zod";
import { OPERATIONS } from "./operations.ts";

export interface Replied {
  readonly method: string;
  /** Below /api/v1. */
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

/** Fails if the reply's status or body is not described, or if it has a member that is not. */
export function asDescribed({ method, path, status, body }: Replied): void {
  const [address = ""] = path.split("?");
  const all = OPERATIONS.filter((each) => each.method === method.toLowerCase() && matches(each.path, address));
  const of = all.find(({ path: pattern }) => !pattern.endsWith("{key}")) ?? all[0];
  if (!of || status === 304) return;
  const what = `${method} ${path}: ${JSON.stringify(body)}`;
  if (status >= 400) expect(body, what).toMatchObject({ status, detail: expect.any(String) });
  else {
    expect(status, what).toBe(of.status ?? 200);
    // A parse leaves out members that the schema does not have.
    expect(of.result && z.parse(of.result, body), what).toEqual(body);
  }
}

/** As the router decides: a path without parameters comes first, which OPERATIONS lists first, and one whose end is a parameter last. */
function matches(pattern: string, address: string): boolean {
  const source = pattern.replaceAll(/\{key\}$/g, ".+").replaceAll(/\{\w+\}/g, "[^/]+");
  return new RegExp(`^${source}$`).test(address);
}
