/**
 * A form of twelve fields on three pages, with a way back. Each page is a question, so a person may begin in a chat and go on in the inbox three days
 * later; nothing here counts pages or keeps drafts.
 */
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import { galleryDir } from "./config.ts";
import { writeJson } from "./file-store.ts";

const PERSON = z.object({
  name: z.string().min(2).max(80).meta({ title: "Name" }),
  email: z.email().meta({ title: "E-mail" }),
  phone: z.string().min(5).max(30).meta({ title: "Phone" }),
  birthday: z.iso.date().meta({ title: "Birthday" }),
});

const ADDRESS = z.object({
  street: z.string().min(2).max(80).meta({ title: "Street and number" }),
  zip: z
    .string()
    .regex(/^[0-9]{4,5}$/)
    .meta({ title: "Postal code", description: "4 or 5 digits" }),
  city: z.string().min(2).max(60).meta({ title: "City" }),
  country: z.enum(["Austria", "Germany", "Switzerland"]).meta({ title: "Country" }),
});

const WORK = z
  .object({
    from: z.int().min(6).max(20).meta({ title: "Begins at", description: "Hour of the day" }),
    to: z.int().min(6).max(22).meta({ title: "Ends at", description: "Hour of the day" }),
    seat: z.enum(["quiet room", "open space", "home"]).meta({ title: "Place" }),
    notes: z.string().max(500).optional().meta({ title: "Anything else" }),
  })
  .refine(({ from, to }) => from < to, { path: ["to"], message: "must be after the beginning" });

export const joinCompany = defineTool({
  name: "join_company",
  title: "Join the company",
  description: "Collects what the company has to know of a new colleague, in three pages.",
  input: z.object({ email: z.email().optional().describe("The new colleague's address, if it is known") }),
  async run({ email }, ctx) {
    const { person, address, work } = await ctx.wizard("joining", {
      pages: {
        person: { message: "Who are you?", schema: PERSON },
        address: { message: ({ person }) => `Where do you live, ${String(person?.["name"])}?`, schema: ADDRESS },
        work: { message: "How do you want to work?", schema: WORK },
      },
      ...(email !== undefined && { prefill: { person: { email } } }),
      timeout: "14 days",
    });
    await ctx.step("save", () => writeJson(galleryDir("colleagues", `${ctx.taskId}.json`), { person, address, work }));
    return `Welcome, ${person.name} of ${address.city}: ${work.from} to ${work.to} o'clock, ${work.seat}.`;
  },
});
