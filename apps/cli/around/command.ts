import type { Command } from "commander";
import { atLeastOne, collect, type ServerOptions, withServerOptions } from "../client/options.ts";
import type { Around, Commenting, Delegating, Snoozing } from "./run.ts";

const load = () => Promise.all([import("../client/reach.ts"), import("./run.ts")]);

export function addAround(program: Command): void {
  const of = (name: string, says: string) =>
    withServerOptions(program.command(`${name} <taskId> [key]`).description(says)).option("--json", "Print the outcome as JSON");

  of("claim", "Say that you are on a question, for some minutes; others may still answer it")
    .option("--minutes <number>", "For how many minutes, at most 60", atLeastOne, 10)
    .action(async (taskId: string, key: string | undefined, { url, dataDir, ...given }: ServerOptions & Around & { minutes: number }) => {
      const [{ withServer }, { claim }] = await load();
      await withServer({ url, dataDir }, ({ api }) => claim(api, { taskId, key }, given));
    });
  of("release", "Say that you are no longer on a question").action(
    async (taskId: string, key: string | undefined, { url, dataDir, ...given }: ServerOptions & Around) => {
      const [{ withServer }, { release }] = await load();
      await withServer({ url, dataDir }, ({ api }) => release(api, { taskId, key }, given));
    },
  );
  of("comment", "Comment on a question, which stays open; everyone who is asked and the person who made the call read it")
    .requiredOption("-m, --message <text>", "The comment")
    .action(async (taskId: string, key: string | undefined, { url, dataDir, ...given }: ServerOptions & Commenting) => {
      const [{ withServer }, { comment }] = await load();
      await withServer({ url, dataDir }, ({ api }) => comment(api, { taskId, key }, given));
    });
  of("ask-back", "Ask the person who made the call something before you answer, if the tool allows that")
    .requiredOption("-m, --message <text>", "What you want to know")
    .action(async (taskId: string, key: string | undefined, { url, dataDir, ...given }: ServerOptions & Commenting) => {
      const [{ withServer }, { askBack }] = await load();
      await withServer({ url, dataDir }, ({ api }) => askBack(api, { taskId, key }, given));
    });
  of("reply", "Reply to what somebody asks back before they answer a question of your call")
    .requiredOption("-m, --message <text>", "The reply")
    .action(async (taskId: string, key: string | undefined, { url, dataDir, ...given }: ServerOptions & Commenting) => {
      const [{ withServer }, { reply }] = await load();
      await withServer({ url, dataDir }, ({ api }) => reply(api, { taskId, key }, given));
    });
  of("delegate", "Hand a question on to others, who answer in your place, if its tool allows that")
    .option("--to <person>", "A person, as they log in, usually their mail address", collect)
    .option("--group <name>", "Everyone in this group", collect)
    .option("--role <name>", "Everyone with this role", collect)
    .requiredOption("--reason <text>", "Why: everyone who is asked reads it")
    .addHelpText(
      "after",
      `
Name yourself to take it back.

Examples:
  $ parley delegate 0-Yuag… approval --to dora@example.com --reason "I am on leave until Monday"
  $ parley delegate 0-Yuag… --group legal --reason "This is a contract"`,
    )
    .action(async (taskId: string, key: string | undefined, { url, dataDir, ...given }: ServerOptions & Delegating) => {
      const [{ withServer }, { delegate }] = await load();
      await withServer({ url, dataDir }, ({ api }) => delegate(api, { taskId, key }, given));
    });
  of("snooze", "Put a question aside for yourself; it comes back then, or earlier if something happens with it")
    .option("--for <duration>", 'For how long, such as "4 hours" or "3 days"')
    .option("--until <time>", "Until when, such as 2026-12-24T09:00:00Z")
    .option("--back", "Bring it back now")
    .addHelpText(
      "after",
      `
It must come back before it closes. \`parley inbox --snoozed only\` lists what you have put aside.

Examples:
  $ parley snooze 0-Yuag… approval --for "4 hours"
  $ parley snooze 0-Yuag… --back`,
    )
    .action(async (taskId: string, key: string | undefined, { url, dataDir, ...given }: ServerOptions & Snoozing) => {
      const [{ withServer }, { snooze }] = await load();
      await withServer({ url, dataDir }, ({ api }) => snooze(api, { taskId, key }, given));
    });
}
