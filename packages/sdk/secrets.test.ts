import { expect, test } from "vitest";
import { looksSecret } from "./secrets.ts";

test.each([
  "password",
  "userPassword",
  "api_key",
  "apiKey",
  "APIKey",
  "apikey",
  "Access token",
  "token",
  "client-secret",
  "pin",
  "cardPin",
  "PIN code",
  "cvv",
  "CVV2",
  "creditCardNumber",
  "passphrase",
  "private_key",
  "otp",
])("%s looks like a secret", (name) => {
  expect(looksSecret(name)).toBe(true);
});

test.each([
  "partySize",
  "spinach",
  "shipping",
  "pinColour",
  "maxTokens",
  "tokenCount",
  "keyboard",
  "passenger",
  "secretary",
  "name",
  "monkey",
  "cardHolder",
])("%s does not look like a secret", (name) => {
  expect(looksSecret(name)).toBe(false);
});
