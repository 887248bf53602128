/**
 * The generator style: the tool yields its questions, steps and reports. A replay recognizes yields like calls of `ctx`, so the train is
 * reserved once, however often the tool runs from its start.
 *
 * A refusal is thrown at its yield, and the reservation is released in a `catch`, as in any tool.
 */
import { rm } from "node:fs/promises";
import { Unanswered, ask, defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

export const planTrip = defineTool({
  name: "plan_trip",
  title: "Plan a trip",
  description: "Plans a weekend trip with the user, and reserves the train.",
  input: z.object({
    city: z
      .string()
      .regex(/^[A-Za-z-]{1,40}$/)
      .describe("Destination, such as Graz"),
  }),
  needs: { elicitation: { form: true, url: false } },
  *run({ city }, ctx) {
    const file = galleryDir("trips", `${ctx.uuid("trip")}.json`);
    yield { emit: "status", message: `Planning a weekend in ${city}` };

    const travellers: number = yield {
      ask: "number",
      id: "travellers",
      message: "How many people will travel?",
      min: 1,
      max: 9,
      step: 1,
      default: 2,
    };
    // With `yield*` the answer is typed.
    const train = yield* ask.select({
      id: "train",
      message: "Which train?",
      options: [
        { value: "morning", title: "Morning", description: "leaves at 7:25", price: "29 €" },
        { value: "noon", title: "Noon", description: "leaves at 12:25", price: "39 €", badge: "fastest" },
        { value: "night", title: "Night", disabled: true, disabledReason: "not in winter" },
      ],
    });
    const day: string = yield { ask: "date", id: "day", message: "On which day?", min: "2026-01-01", required: false };
    yield { emit: "progress", value: 0.5, message: "Reserving seats" };
    yield { step: "reserve", run: () => writeJson(file, { city, travellers, train, day, state: "reserved" }) };

    try {
      const isSure: boolean = yield {
        ask: "confirm",
        id: "book",
        message: `Book ${travellers} seats to ${city} in the ${train} train?`,
        dangerous: true,
        timeout: "1 hour",
      };
      if (isSure) {
        yield { step: "book", run: () => writeJson(file, { city, travellers, train, day, state: "booked" }) };
        yield { emit: "toast", message: "Booked", type: "success" };
        yield { emit: "artifact", type: "json", title: "trip", content: { city, travellers, train, day: day ?? null } };
        return `Booked: ${travellers} seats to ${city}, ${train} train.`;
      }
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
    }
    yield { step: "give-back", run: () => rm(file, { force: true }) };
    return "Nothing was booked.";
  },
});
