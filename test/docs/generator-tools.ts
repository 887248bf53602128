/** The snippets of docs/generator-tools.md, compiled as they are printed there (see snippets.test.ts), and run by generator-tools-page.test.ts. */
import { Declined, type ToolGenerator, ask, defineTool, dryRun, event, received, step } from "@parley/sdk";
import { z } from "zod";

export const held: string[] = [];

const bookings = {
  hold: (day: string) => held.push(day),
  book: (table: number, size: number) => held.push(`${table} for ${size}`),
};

export const bookTable = defineTool({
  name: "book_table",
  input: z.object({ day: z.iso.date() }),
  async *run({ day }) {
    yield { emit: "status", message: `Looking for a table on ${day}` };
    const table: number = yield { step: "hold", run: () => bookings.hold(day) };

    const size: number = yield { ask: "number", id: "party-size", message: "How many?", min: 1, max: 20, step: 1 };
    const isSure: boolean = yield { ask: "confirm", message: `Book table ${table} for ${size}?`, onDecline: "default", default: false };

    if (!isSure) return "Nothing was booked.";
    yield { step: "book", run: () => bookings.book(table, size) };
    yield { emit: "toast", message: "Booked", type: "success" };
    return { booked: true, table, size };
  },
});

export const typed = defineTool({
  name: "typed",
  input: z.object({ day: z.iso.date() }),
  *run({ day }) {
    const size = yield* ask.number({ id: "party-size", message: "How many?", min: 1 }); // number
    const plan = yield* ask.select({ id: "plan", message: "Which plan?", options: ["free", "pro"] }); // "free" | "pro"
    const held = yield* step("hold", () => bookings.hold(day)); // number
    return `${size + held} ${plan}`;
  },
});

function* approval(who: string): ToolGenerator<string> {
  const isIt: boolean = yield { ask: "confirm", message: `Do you approve, ${who}?` };
  return isIt ? "yes" : "no";
}

export const approvalsOf = defineTool({
  name: "approvals_of",
  *run() {
    const approvals: Record<string, string> = yield { all: { ada: approval("Ada"), bob: approval("Bob") } };
    return approvals;
  },
});

export const opinionsOf = defineTool({
  name: "opinions_of",
  input: z.object({ people: z.array(z.string()) }),
  *run({ people }) {
    const opinions: readonly string[] = yield { map: people, key: (who) => who, each: (who) => approval(who), concurrency: 2 };
    return opinions.join();
  },
});

export const greet = defineTool({
  name: "greet",
  *run() {
    try {
      const name: string = yield { ask: "text", id: "name", message: "Who are you?" };
      return `Hello, ${name}`;
    } catch (error) {
      if (error instanceof Declined) return "Hello, stranger";
      throw error;
    }
  },
});

export async function planned() {
  const { asks, steps } = await dryRun(bookTable, { day: "2026-12-24" }, { steps: { hold: 7 }, answers: { "party-size": 4 } });
  return { asks, steps };
}

function* deputy(): ToolGenerator<boolean> {
  yield { sleep: "patience", for: "1 day" };
  return yield* ask.confirm({ id: "approve", message: "Nobody has answered. Do you approve?" });
}

export const patient = defineTool({
  name: "patient",
  *run() {
    const { name, value }: { name: string; value: boolean } = yield {
      race: { manager: { ask: "confirm", id: "approve", message: "Do you approve?" }, deputy: deputy() },
    };
    return `${name}: ${value}`;
  },
});

const PAID = z.object({ reference: z.string() });
const payments = { checkout: (url: string) => void held.push(url) };

export const pay = defineTool({
  name: "pay",
  *run() {
    const paid = yield* event("paid", { schema: PAID, timeout: "1 day" });
    yield { step: "checkout", run: () => payments.checkout(paid.url) };
    const { reference } = yield* received(paid); // or: yield paid
    return reference;
  },
});
