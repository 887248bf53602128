/** Whether what operators are shown is about one deployment where one Prometheus scrapes several: staging and production, two releases. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";

const read = (file: string) => readFile(new URL(`../deploy/${file}`, import.meta.url), "utf8");

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

async function rules(): Promise<readonly Rule[]> {
  const { groups } = parse(await read("prometheus/alerts.yml")) as { groups: readonly { rules: readonly Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

/** The metrics of an expression, each with its matchers. */
function selectors(expression: string): readonly string[] {
  return [...expression.matchAll(/\b(?:parley|nodejs|process)_\w+(?:\{[^}]*\})?/g)].map(([found]) => found);
}

test("every query of the dashboard is about the deployments that are chosen in it", async () => {
  const text = await read("grafana/parley.json");
  const { templating } = JSON.parse(text) as { templating: { list: readonly { name: string; allValue?: string }[] } };
  // Without labels, as in Docker Compose, `.*` matches too.
  expect(templating.list.filter(({ allValue }) => allValue === ".*").map(({ name }) => name)).toEqual(["namespace", "release"]);
  const queries = [...text.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, query = ""]) => JSON.parse(query) as string);
  expect(queries.length).toBeGreaterThan(50);
  const chosen = 'namespace=~"$namespace",release=~"$release"';
  expect(queries.flatMap(selectors).filter((each) => !each.includes(chosen))).toEqual([]);
});

test("every alert is about one deployment, or one process of one", async () => {
  const mixing = (await rules()).filter(({ expr }) => {
    const folds = [...expr.matchAll(/\b(?:sum|max|min|avg|count|group)\b *(by \([^)]*\))?/g)];
    return folds.some(([, by = ""]) => !by.startsWith("by (namespace, release"));
  });
  expect(mixing.map(({ alert }) => alert)).toEqual([]);
});

test("every alert is tested to be silent for one deployment while it fires for another", async () => {
  const { tests } = parse(await read("prometheus/alerts.test.yml")) as {
    tests: readonly {
      input_series: readonly { series: string }[];
      promql_expr_test: readonly { expr: string; exp_samples: readonly { labels?: string }[] }[];
    }[];
  };
  const tested = (await rules()).filter(({ alert, expr }) =>
    tests.some(({ input_series, promql_expr_test }) => {
      const isNamed = promql_expr_test.some(({ expr: query, exp_samples }) => {
        const [, pattern = "", is = ""] = /alertname(=~?)"([^"]*)"/.exec(query) ?? [];
        const isMeant = pattern === "=~" ? new RegExp(`^(?:${is})$`).test(alert) : is === alert || is === "";
        return (
          isMeant && exp_samples.some(({ labels = "" }) => labels.includes("namespace=") && (labels.includes(`"${alert}"`) || is === alert))
        );
      });
      const own = input_series.filter(({ series }) =>
        selectors(expr)
          .concat(expr.includes("up{") ? ["up"] : [])
          .some((each) => series.startsWith(each.split("{")[0] ?? "")),
      );
      return isNamed && new Set(own.map(({ series }) => /namespace="([^"]*)"/.exec(series)?.[1])).size > 1;
    }),
  );
  const untested = (await rules()).filter((rule) => !tested.some(({ alert }) => alert === rule.alert));
  expect(untested.map(({ alert }) => alert)).toEqual([]);
});
