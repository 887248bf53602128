/** A person puts a question aside for themselves. */
import { SCOPES, SNOOZE_DAYS_MAX, snoozeAsk, SNOOZES_MAX, type Snoozed, unsnoozeAsk } from "@parley/core";
import { z } from "zod";
import { DOOR, operation, type Operation } from "./operation.ts";
import { Refused } from "./problems.ts";
import { givenTime, named, time, timeOf } from "./shapes.ts";

const common = {
  method: "post",
  group: "Questions",
  scopes: [SCOPES.answer],
  rate: "answers",
  params: z.object({ taskId: z.string(), key: z.string() }),
} as const;
const IN_ADDRESS = "In this address, write slashes of the key as `%2F`.";
const refusals = { 404: "There is no such question, or the caller may not read it", 409: "The question is closed" };

export const SNOOZE_OPERATIONS: readonly Operation[] = [
  operation({
    ...common,
    name: "snoozeAsk",
    path: "/asks/{taskId}/{key}/snooze",
    summary: "Puts a question aside for the caller until a time, in place of an earlier one",
    description: `Only the caller's own lists and counts leave it out. It comes back at that time, or before if it changes: when people are reminded, others are asked as well, somebody comments, or hands it to the caller. ${IN_ADDRESS}`,
    body: named(
      "SnoozeRequest",
      z.strictObject(
        { until: givenTime.describe(`Before the question's deadline, and at most ${SNOOZE_DAYS_MAX} days ahead`) },
        { error: "must be an object with the time until" },
      ),
    ),
    result: named("SnoozeReceipt", z.object({ receipt: z.literal("snoozed"), until: time })),
    refusals: {
      ...refusals,
      403: "The question is put to others",
      409: "The question is closed (`receipt` is `late`), or the caller has put too many aside (`full`)",
      422: "The time is over or too far away (`not_then`), or the question closes before (`closes_before`)",
    },
    async handle({ frontEnd: { services }, caller, params: at, body: { until } }) {
      const snoozed = await snoozeAsk(services, { ...at, caller, door: DOOR, untilMs: Date.parse(until) });
      if (snoozed.type === "snoozed") return { receipt: snoozed.type, until: timeOf(snoozed.untilMs) };
      throw refused(snoozed);
    },
  }),
  operation({
    ...common,
    name: "unsnoozeAsk",
    path: "/asks/{taskId}/{key}/unsnooze",
    summary: "Brings a question back that the caller has put aside",
    description: IN_ADDRESS,
    body: named("UnsnoozeRequest", z.strictObject({}, { error: "must be an object" })),
    result: named("UnsnoozeReceipt", z.object({ receipt: z.literal("unsnoozed") })),
    refusals,
    async handle({ frontEnd: { services }, caller, params: at }) {
      const snoozed = await unsnoozeAsk(services, { ...at, caller, door: DOOR });
      if (snoozed.type === "unsnoozed") return { receipt: snoozed.type };
      throw refused(snoozed);
    },
  }),
];

function refused(snoozed: Snoozed): Refused {
  switch (snoozed.type) {
    case "closes_before":
      return new Refused({
        status: 422,
        receipt: snoozed.type,
        detail: `until must be before the question's deadline, ${timeOf(snoozed.deadlineMs)}: it would close while it is put aside`,
      });
    case "not_then":
      return new Refused({ status: 422, receipt: snoozed.type, detail: `until must be in the next ${SNOOZE_DAYS_MAX} days` });
    case "full":
      return new Refused({
        status: 409,
        receipt: snoozed.type,
        detail: `you have put ${SNOOZES_MAX} questions aside: answer some of them, or bring them back`,
      });
    case "forbidden":
      return new Refused({ status: 403, receipt: snoozed.type, detail: "the question is put to others" });
    default:
      return new Refused({ status: 409, receipt: snoozed.type, detail: "the question is closed" });
  }
}
