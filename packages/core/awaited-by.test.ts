import { expect, test } from "vitest";
import { awaitedBy, awaitHandler } from "./awaited-by.ts";

async function asked(): Promise<string> {
  await Promise.resolve();
  return awaitedBy().items;
}

test("a function outside Promise.all is awaited by no item", async () => {
  expect(awaitedBy().items).toBe("");
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

test("what a handler awaits is known as awaited by it, through functions, Promise.all and returned promises", async () => {
  const isByHandler = async () => {
    // V8 connects a returned promise with the function that returned it two microtasks later.
    for (let time = 0; time < 3; time += 1) await Promise.resolve();
    return awaitedBy().isByHandler;
  };
  const helper = async () => isByHandler();
  const isKnown = async () => await helper();
  expect(await awaitHandler(isKnown)).toBe(true);
  expect(await awaitHandler(async () => await Promise.all([isKnown(), isByHandler()]))).toStrictEqual([true, true]);
  expect(await isKnown()).toBe(false);
});

test("what a queue calls is not known as awaited by the handler", async () => {
  const queue: (() => void)[] = [];
  const queued = async () =>
    await new Promise<boolean>((resolve) => {
      queue.push(() => void Promise.resolve().then(() => resolve(awaitedBy().isByHandler)));
    });
  const found = awaitHandler(queued);
  queue.shift()?.();
  expect(await found).toBe(false);
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
