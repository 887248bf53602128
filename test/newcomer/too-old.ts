/** A Node.js that is too old: each way in says so in one sentence, and nothing is made or installed. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createProject } from "../../packages/create-parley/create-project.ts";
import type { Walk } from "./walk.ts";

/** Resolves to the sentence. Throws an Error with what was printed instead of it. */
export async function tooOld({ machine, folder, tarballs }: Omit<Walk, "port">): Promise<string> {
  const packed = readdirSync(tarballs).map((file) => join(tarballs, file));
  const creator = packed.find((file) => file.includes("create-parley"));
  const { code, printed } = await machine.run(`npm exec --yes --package=${creator} -- create-parley my-tools`, folder);
  const [sentence = "", ...more] = printed.trim().split("\n");
  if (code !== 1 || more.length > 0 || !/^create-parley: needs Node\.js 22\.22 or newer, and this is \d/.test(sentence))
    throw new Error(printed);
  if (existsSync(join(folder, "my-tools"))) throw new Error("it made a project all the same");

  // A project that somebody else has made.
  const project = join(folder, "theirs");
  await createProject(project, { language: "ts" });
  const install = await machine.run(`npm install ${packed.filter((file) => file !== creator).join(" ")}`, project);
  if (install.code === 0 || !/Required: \{"node":">=22\.22"\}/.test(install.printed) || existsSync(join(project, "node_modules/@parley")))
    throw new Error(install.printed);
  return sentence;
}
