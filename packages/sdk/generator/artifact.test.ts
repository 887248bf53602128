import { describe, expect, test } from "vitest";
import { artifactBlock } from "./artifact.ts";
import type { ArtifactYield } from "./yields.ts";

const block = (artifact: object, position = 0) => artifactBlock({ emit: "artifact", ...artifact } as ArtifactYield, position);
const link = (uri: string, name: string) => ({ type: "resource_link", uri, name });
const resource = (uri: string, mimeType: string, text: string) => ({ type: "resource", resource: { uri, mimeType, text } });

describe("an artifact", () => {
  const url = "https://x.example/a";
  const picture = "data:image/svg+xml;base64,AA+/==";

  test.each<[string, object, object]>([
    ["an image", { type: "image", content: "AA==" }, { type: "image", data: "AA==", mimeType: "image/png" }],
    [
      "an image of its own type",
      { type: "image", content: "AA==", mimeType: "image/gif" },
      { type: "image", data: "AA==", mimeType: "image/gif" },
    ],
    [
      "an image in a url",
      { type: "image", url: picture, mimeType: "image/gif" },
      { type: "image", data: "AA+/==", mimeType: "image/svg+xml" },
    ],
    ["an empty image in a url", { type: "image", url: "data:image/png;base64," }, { type: "image", data: "", mimeType: "image/png" }],
    [
      "an image with content beside its url",
      { type: "image", url: picture, content: "BB==" },
      { type: "image", data: "BB==", mimeType: "image/png" },
    ],
    ["an image elsewhere", { type: "image", url }, link(url, url)],
    ["an image in a url that is not base64", { type: "image", url: "data:image/png,x" }, link("data:image/png,x", "data:image/png,x")],
    ["a data url with more behind it", { type: "image", url: `${picture}#x` }, link(`${picture}#x`, `${picture}#x`)],
    ["a data url within another", { type: "image", url: `x:${picture}` }, link(`x:${picture}`, `x:${picture}`)],
    ["a document in a url", { type: "document", url: picture }, link(picture, picture)],
    [
      "a link with a title and a type",
      { type: "embed", url, title: "Video", mimeType: "video/mp4" },
      { ...link(url, "Video"), mimeType: "video/mp4" },
    ],
    ["code", { type: "code", content: "a" }, { type: "text", text: "```\na\n```" }],
    [
      "code with a title and a language",
      { type: "code", content: "a", title: "A", language: "ts" },
      { type: "text", text: "A\n\n```ts\na\n```" },
    ],
    ["code with a fence in it", { type: "code", content: "`a` ```` b ``" }, { type: "text", text: "`````\n`a` ```` b ``\n`````" }],
    ["code elsewhere", { type: "code", url }, link(url, url)],
    ["data", { type: "json", content: [1] }, resource("artifact://1/json", "application/json", "[\n  1\n]")],
    ["data that is a text already", { type: "json", content: "[1]" }, resource("artifact://1/json", "application/json", "[1]")],
    [
      "data of another type",
      { type: "json", content: 1, mimeType: "application/geo+json" },
      resource("artifact://1/json", "application/geo+json", "1"),
    ],
    ["a document", { type: "document", content: "Hi" }, resource("artifact://1/document", "text/plain", "Hi")],
    [
      "a document with a title",
      { type: "document", content: "Hi", title: "My notes/1" },
      resource("artifact://1/My%20notes%2F1", "text/plain", "Hi"),
    ],
    ["a document with its address", { type: "document", content: "Hi", title: "T", url }, resource(url, "text/plain", "Hi")],
    ["a page", { type: "embed", content: "<p>" }, resource("artifact://1/embed", "text/html", "<p>")],
  ])("is %s", (_what, artifact, made) => {
    expect(block(artifact)).toStrictEqual(made);
  });

  test("without a URL is identified by its position", () => {
    expect(block({ type: "document", content: "" }, 4)).toStrictEqual(resource("artifact://5/document", "text/plain", ""));
  });
});
