/** The lint rule that keeps the imports between the wings of a package to what the table in its README says (tables.ts). */
import { dirname, join, relative } from "node:path";
import { objection, ROOT, type Wing, wingsOf } from "./tables.ts";

interface Node {
  readonly source?: { readonly type: string; readonly value?: unknown } | null;
}

interface RuleContext {
  readonly filename: string;
  report(problem: { readonly node: unknown; readonly message: string }): void;
}

const known = new Map<string, readonly Wing[] | undefined>();

const oneWay = {
  meta: { type: "problem", docs: { description: "Wings import the wings that their package's README names." }, schema: [] },
  create({ filename, report }: RuleContext) {
    const [kind = "", name = ""] = relative(ROOT, filename).split("/");
    const directory = join(kind, name);
    if (!known.has(directory)) known.set(directory, wingsOf(directory));
    const wings = known.get(directory);
    if (wings === undefined) return {};

    function check(node: Node): void {
      const to = node.source?.value;
      if (typeof to !== "string" || !to.startsWith(".")) return;
      const [from, target] = [filename, join(dirname(filename), to)].map((path) => relative(join(ROOT, directory), path));
      if (from === undefined || target === undefined || target.startsWith("..")) return;
      const message = objection(wings ?? [], from, target);
      if (message !== undefined) report({ node: node.source, message });
    }

    return { ImportDeclaration: check, ExportNamedDeclaration: check, ExportAllDeclaration: check, ImportExpression: check };
  },
};

export default { meta: { name: "wings" }, rules: { "one-way": oneWay } };
