/** The projects of ../../vitest.config.ts that can detect mutants of one package. Stryker narrows them to the files that reach a mutant. */
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { projects } from "../../vitest.config.ts";
import { isMutated, MUTATED } from "./mutated.ts";

const name = process.env["MUTATED_PACKAGE"] ?? "";
if (!isMutated(name)) throw new Error("MUTATED_PACKAGE must name a package of mutated.ts: main.ts sets it");
const chosen: readonly string[] = MUTATED[name];
const isOwnOnly = process.env["OWN_TESTS"] !== undefined;

/** The first failing test ends a mutant, and the package's own tests are the quickest to begin. */
class OwnTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isOwn = ({ moduleId }: TestSpecification): boolean => moduleId.includes(`/packages/${name}/`);
    return [...files.filter(isOwn), ...files.filter((file) => !isOwn(file))];
  }
}

/** The package's own tests, and the contracts that its adapters share with those of another package. */
function own(files: string): string[] {
  const ending = files.slice(files.lastIndexOf("*") + 1);
  return [files.replace("packages/", `packages/${name}/`), `test/contract/{store,session,slots}.contract${ending}`];
}

export default defineConfig({
  test: {
    // Loading modules is most of the time that a mutant takes: once per mutant, not once per test file.
    isolate: false,
    sequence: { sequencer: OwnTestsFirst },
    projects: projects
      .filter(({ test }) => chosen.includes(test.name))
      .map(({ test }) => {
        const include = isOwnOnly ? test.include.filter((files) => files.startsWith("packages/")).flatMap(own) : test.include;
        return { extends: true, test: { ...test, include } };
      }),
  },
});
