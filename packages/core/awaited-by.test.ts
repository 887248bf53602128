import { expect, test } from "vitest";
import { awaitedBy } from "./awaited-by.ts";

async function asked(): Promise<string> {
  await Promise.resolve();
  return awaitedBy();
}

test("a function outside Promise.all is awaited by no item", async () => {
  expect(awaitedBy()).toBe("");
  expect(await asked()).toBe("");
});

test("the items of a Promise.all are distinguished, innermost first", async () => {
  const both = async () => await Promise.all([asked(), asked()]);
  expect(await both()).toStrictEqual(["0", "1"]);
  expect(await Promise.all([asked(), both(), both()])).toStrictEqual(["0", ["0.1", "1.1"], ["0.2", "1.2"]]);
});

test("the items of allSettled and of any are distinguished as well", async () => {
  const settled = await Promise.allSettled([asked(), asked()]);
  expect(settled).toStrictEqual(["0", "1"].map((value) => ({ status: "fulfilled", value })));
  expect(await Promise.any([Promise.reject(new Error("no")), asked()])).toBe("1");
});

test("stack traces are unchanged afterwards", async () => {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const own = () => "a stack of somebody's own";
  try {
    Error.prepareStackTrace = own;
    Error.stackTraceLimit = 3;
    expect(await Promise.all([asked(), asked()])).toStrictEqual(["0", "1"]);
    expect(Error.prepareStackTrace).toBe(own);
    expect(Error.stackTraceLimit).toBe(3);
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
});
