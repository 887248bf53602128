/**
 * Concurrent generators: one per supplier, driven by `all`. Their questions are open at the same time, can be answered in any order, and have
 * scoped names such as `bakery/price`. The tool returns nothing: the text that it streams is its result.
 */
import { Declined, type ToolGenerator, ask, defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

interface Offer {
  readonly price: number;
  readonly delivery: string;
}

export const compareOffers = defineTool({
  name: "compare_offers",
  title: "Compare offers",
  description: "Asks for the offers of several suppliers and compares them.",
  input: z.object({
    event: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/)
      .describe("Short name of the event, such as summer-party"),
    suppliers: z
      .array(z.string().regex(/^[a-z0-9-]{1,40}$/))
      .min(1)
      .max(10)
      .refine((suppliers) => new Set(suppliers).size === suppliers.length, "must name each supplier once")
      .describe("Suppliers, such as bakery"),
  }),
  needs: { elicitation: { form: true, url: false } },
  *run({ event, suppliers }) {
    const offers: Record<string, Offer | undefined> = yield {
      all: Object.fromEntries(suppliers.map((supplier) => [supplier, offerOf(supplier)])),
    };
    yield { step: "file", run: () => writeJson(galleryDir("offers", `${event}.json`), offers) };
    const ranked = suppliers
      .flatMap((supplier) => (offers[supplier] ? [{ supplier, ...offers[supplier] }] : []))
      .toSorted((a, b) => a.price - b.price);
    if (ranked.length === 0) return "No supplier made an offer.";
    yield `Offers for ${event}:\n`;
    for (const { supplier, price, delivery } of ranked) yield `  ${supplier}: ${price.toFixed(2)} €, ${delivery}\n`;
    return undefined;
  },
});

/** Undefined if the supplier makes no offer. */
function* offerOf(supplier: string): ToolGenerator<Offer | undefined> {
  try {
    const price = yield* ask.number({ id: "price", message: `What does ${supplier} charge, in euros?`, min: 0, step: 0.01 });
    const delivery = yield* ask.select({
      id: "delivery",
      message: `How does ${supplier} deliver?`,
      options: ["by car", "by bicycle", "not at all"],
    });
    return { price, delivery };
  } catch (error) {
    if (error instanceof Declined) return undefined;
    throw error;
  }
}
