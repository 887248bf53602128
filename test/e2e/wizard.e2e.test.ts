/** Twelve fields on three pages at a terminal, with three mistakes on the way: a wrong address, a step back for a name, hours that do not fit. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogue } from "@parley/sdk";
import { joinCompany } from "../../apps/gallery/19-join-company.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { deploy } from "../../apps/server/deployment.fixture.ts";
import { hasTerminal, openTerminal, type Terminal } from "../support/terminal.ts";

let directory: string;
let on: Terminal | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-wizard-"));
  vi.stubEnv("PARLEY_GALLERY_DIR", directory);
});
afterEach(async () => {
  await on?.close();
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

test.runIf(hasTerminal)("by keyboard in a terminal, nothing is typed twice", async () => {
  const { fronts } = await deploy({ catalogue: catalogue([joinCompany]) });
  const terminal = (on = await openTerminal(["call", "join_company"], { PARLEY_URL: fronts[0]!.url }));
  /** Only the prompt that waits has a filled sign. */
  const asks = async (label: string) => await terminal.shows(`◆  ${label}`);
  const answer = async (label: string, typed = "") => {
    await asks(label);
    if (typed !== "") await terminal.type(typed);
    await terminal.press("Enter");
  };

  await terminal.shows("Step 1 of 3");
  await answer("Answer?");
  await answer("Name", "Ada Lovelac");
  await answer("E-mail", "ada@acme");
  // What is wrong is said while it can still be changed.
  await terminal.shows(/must be .*(e-mail|email)/);
  await terminal.type(".example");
  await terminal.press("Enter");
  await answer("Phone", "+43 1 234");
  await answer("Birthday", "1990-12-10");

  await terminal.shows("Step 2 of 3");
  await asks("Answer?");
  await terminal.shows("○ Back");
  await terminal.press("Down", "Enter");

  await terminal.shows("Step 1 of 3");
  await answer("Answer?");
  await answer("Name", "e");
  for (const label of ["E-mail", "Phone", "Birthday"]) await answer(label);

  await terminal.shows("Step 2 of 3");
  await answer("Answer?");
  await answer("Street", "Ring 1");
  await answer("Postal", "1010");
  await answer("City", "Vienna");
  await answer("Country");

  await terminal.shows("Step 3 of 3");
  await answer("Answer?");
  await answer("Begins", "9");
  await answer("Ends", "8");
  await answer("Place");
  await answer("Anything else");

  await terminal.shows("must be after the beginning");
  await answer("Answer?");
  await answer("Begins");
  await asks("Ends");
  await terminal.press("BSpace");
  await terminal.type("17");
  await terminal.press("Enter");
  await answer("Place");
  await answer("Anything else");
  await terminal.shows("Welcome, Ada Lovelace of Vienna: 9 to 17 o'clock, quiet room.");
  expect(await terminal.ended()).toBe(0);
});
