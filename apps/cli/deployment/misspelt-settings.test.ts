import { SERVER_SETTINGS } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import { expect, test } from "vitest";
import { misspelt } from "./misspelt-settings.ts";

const SETTINGS = Object.keys({ ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape });

test.each([
  ["PARLEY_CONCURENCY", "PARLEY_CONCURRENCY"],
  ["PARLEY_AUTH_ISSUER", "PARLEY_AUTH_ISSUERS"],
  ["PARLEY_LEESE", "PARLEY_LEASE"],
  ["PARLEY_SECRTE_FILE", "PARLEY_SECRET"],
])("%s is nearly %s", (name, meant) => {
  expect(misspelt(["PATH", name], SETTINGS)).toEqual([{ name, meant }]);
});

test("settings, settings in files, and variables of others are not misspelt", () => {
  const others = [
    "PARLEY_URL",
    "PARLEY_TOKEN",
    "PARLEY_GALLERY_DIR",
    "PARLEY_VERSION",
    "PARLEY_PUBLISH",
    "PARLEY_X",
    "LEASE",
    "ARLEY_LEASE",
  ];
  expect(misspelt([...SETTINGS, ...SETTINGS.map((name) => `${name}_FILE`), ...others], SETTINGS)).toEqual([]);
});
