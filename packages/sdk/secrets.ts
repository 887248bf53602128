/**
 * Whether a form field looks as if it asked for a secret. MCP forbids servers to ask for secrets in form mode, since the answer passes through
 * the client and its logs; a name is all that a server can judge by, so this looks for words, not for parts of words ("pin", not "spinach").
 */
const SECRET_WORDS = new Set([
  "password",
  "passwords",
  "passwd",
  "passcode",
  "passphrase",
  "pwd",
  "secret",
  "secrets",
  "apikey",
  "credential",
  "credentials",
  "cvv",
  "cvc",
  "csc",
  "otp",
  "totp",
  "mnemonic",
]);

/** Words that make a secret when they stand at the end or before one of the second kind: `pin`, `pinCode`, `accessToken`, but not `tokenCount`. */
const SECRET_ENDINGS = new Set(["pin", "token"]);
const AFTER_ENDINGS = new Set(["code", "number", "value"]);

const SECRET_PAIRS = new Set([
  "api key",
  "access key",
  "private key",
  "secret key",
  "signing key",
  "encryption key",
  "ssh key",
  "seed phrase",
  "recovery phrase",
  "recovery code",
  "security code",
  "verification code",
  "auth code",
  "card number",
  "pass word",
  "pass phrase",
]);

export function looksSecret(text: string): boolean {
  const words = text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "");
  return words.some((word, index) => {
    const next = words[index + 1];
    if (SECRET_WORDS.has(word)) return true;
    if (SECRET_ENDINGS.has(word)) return next === undefined || AFTER_ENDINGS.has(next);
    return next !== undefined && SECRET_PAIRS.has(`${word} ${next}`);
  });
}
