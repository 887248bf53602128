import { expect, test } from "vitest";
import { publicUrlSetting } from "./public-url.ts";

function read(text: string): string | { readonly problems: readonly string[] } {
  const problems: string[] = [];
  const url = publicUrlSetting(text, { addIssue: (problem) => problems.push(problem) });
  return problems.length === 0 ? url : { problems };
}

test.each([
  ["https://parley.example.com", "https://parley.example.com"],
  ["https://parley.example.com/", "https://parley.example.com"],
  ["https://parley.example.com//", "https://parley.example.com"],
  ["HTTPS://Parley.Example.com", "https://parley.example.com"],
  ["https://parley.example.com:443", "https://parley.example.com"],
  ["http://localhost:80/", "http://localhost"],
  ["https://parley.example.com:8443/", "https://parley.example.com:8443"],
  ["https://example.com/Tools/parley/", "https://example.com/Tools/parley"],
  ["https://example.com/mcp/parley", "https://example.com/mcp/parley"],
  ["https://bücher.example", "https://xn--bcher-kva.example"],
  ["http://[::1]:3000", "http://[::1]:3000"],
  [" https://parley.example.com\n", "https://parley.example.com"],
])("the public address %j is %j", (text, url) => {
  expect(read(text)).toBe(url);
});

test.each([
  ["parley.example.com", /^must be an address with http/],
  // To a URL parser, the name of a host before a port is a scheme.
  ["parley.example.com:8443", /^must be an address with http/],
  ["localhost:3000", /^must be an address with http/],
  ["ftp://parley.example.com", /^must be an address with http/],
  ["https://", /^must be an address with http/],
  ["https://ann:secret@parley.example.com", /^must not name a user/],
  ["https://ann@parley.example.com", /^must not name a user/],
  ["https://parley.example.com/?tenant=a", /^must not have a query/],
  ["https://parley.example.com/#here", /^must not have a query/],
  ["https://parley.example.com/mcp", /^must not end with \/mcp/],
  ["https://parley.example.com/a/mcp/", /^must not end with \/mcp/],
])("the public address %j is refused", (text, problem) => {
  expect(read(text)).toEqual({ problems: [expect.stringMatching(problem)] });
});
