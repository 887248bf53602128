import { KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isPublicAddress, isPublicHost } from "./public-address.ts";
import { readWebhooks, WEBHOOKS_MAX, WebhooksError } from "./webhooks-file.ts";

const SECRET = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;

function read(text: string, variables: NodeJS.ProcessEnv = {}) {
  const folder = mkdtempSync(join(tmpdir(), "parley-webhooks-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "webhooks.yaml");
  writeFileSync(file, text);
  return readWebhooks(file, variables);
}

function problems(text: string, variables?: NodeJS.ProcessEnv): readonly string[] {
  try {
    read(text, variables);
  } catch (error) {
    if (error instanceof WebhooksError) return error.problems;
    throw error;
  }
  return [];
}

const one = (lines: string) => `webhooks:\n  ops:\n${lines.replace(/^/gm, "    ")}`;

test("a file names where to post, what, and with which secret", () => {
  const [ops, bot] = read(
    `webhooks:\n  ops: { url: "https://ops.example/in", secret: "\${OPS}" }\n  bot: { url: "http://bot:8080/\${PATH_OF}", secret: [${SECRET}, ${SECRET}], events: [ask.opened], tool: refund, tenant: acme, private: true }`,
    { OPS: SECRET, PATH_OF: "x" },
  );
  expect(ops).toMatchObject({
    name: "ops",
    events: ["ask.opened", "ask.reminded", "ask.settled", "task.ended"],
    isPrivate: false,
    keys: [expect.any(KeyObject)],
  });
  expect(bot).toMatchObject({ events: ["ask.opened"], tool: "refund", tenant: "acme", isPrivate: true, keys: { length: 2 } });
  expect(bot?.url.href).toBe("http://bot:8080/x");
});

test.each([
  ["nothing", "", "expected object"],
  ["no YAML", "webhooks: [", "is not YAML"],
  ["a key twice", `webhooks:\n  a: 1\n  a: 2`, "is not YAML"],
  ["an unknown member", one(`url: https://a.example\nsecret: ${SECRET}\ncolour: red`), "colour"],
  ["an unknown event", one(`url: https://a.example\nsecret: ${SECRET}\nevents: [ask.asked]`), "webhooks.ops.events.0"],
  ["a name with a space", `webhooks:\n  "a b": { url: "https://a.example", secret: ${SECRET} }`, "a name has 1 to 64"],
  ["no address", one(`url: ops\nsecret: ${SECRET}`), "webhooks.ops.url: must be an address"],
  ["no TLS", one(`url: http://a.example\nsecret: ${SECRET}`), "must begin with https://"],
  ["a password", one(`url: https://u:p@a.example\nsecret: ${SECRET}`), "must not contain a password"],
  ["an address of one's own network", one(`url: https://10.0.0.1/\nsecret: ${SECRET}`), "write `private: true`"],
  ["a variable that is not set", one(`url: https://a.example\nsecret: "\${NOPE}"`), "the environment variable NOPE is not set"],
  ["a short secret", one(`url: https://a.example\nsecret: whsec_AAAA`), "webhooks.ops.secret: must be whsec_"],
  ["three secrets", one(`url: https://a.example\nsecret: [${SECRET}, ${SECRET}, ${SECRET}]`), "webhooks.ops.secret"],
  [
    "more than the limit",
    `webhooks:\n${Array.from({ length: WEBHOOKS_MAX + 1 }, (_, at) => `  h${at}: { url: "https://a.example", secret: ${SECRET} }`).join("\n")}`,
    `the limit is ${WEBHOOKS_MAX}`,
  ],
])("a file with %s is refused, and says so", (_name, text, problem) => {
  expect(problems(text).join("\n")).toContain(problem);
});

test("a secret is in no message", () => {
  expect(problems(one(`url: https://a.example\nsecret: whsec_SECRETSECRET`)).join()).not.toContain("SECRETSECRET");
});

test("as many as the limit are read", () => {
  const hooks = Array.from({ length: WEBHOOKS_MAX }, (_, at) => `  h${at}: { url: "https://a.example", secret: ${SECRET} }`);
  expect(read(`webhooks:\n${hooks.join("\n")}`)).toHaveLength(WEBHOOKS_MAX);
});

test("public addresses, and all others", () => {
  for (const address of ["1.1.1.1", "93.184.216.34", "2606:4700::1111"]) expect(isPublicAddress(address), address).toBe(true);
  const others = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "198.18.0.1",
  ];
  const six = [
    "::1",
    "::",
    "fc00::1",
    "fe80::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "ff02::1",
    "2001:db8::1",
    "fd00:ec2::254",
  ];
  for (const address of [...others, ...six]) expect(isPublicAddress(address), address).toBe(false);
  for (const host of ["localhost", "a.localhost", "localhost.", "a.localhost.", "[::1]", "127.0.0.1"])
    expect(isPublicHost(host), host).toBe(false);
  expect(isPublicHost("a.example")).toBe(true);
});
