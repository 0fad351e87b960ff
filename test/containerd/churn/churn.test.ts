import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { explain, summarize, type ChurnResult } from './churn-report.js';
import { readChurnPlan } from './churn-plan.js';
import { writeChurnResults } from './churn-results.js';
import { runChurn } from './run-churn.js';

const plan = readChurnPlan(process.env);

describe('churn on a real containerd', () => {
  const results: ChurnResult[] = [];

  it.each(plan.configurations)(
    'tells every end exactly once: $mode on $release through $through',
    async (configuration) => {
      const result = await runChurn(configuration, plan.settings);
      results.push(result);
      // At once: the other configurations take minutes.
      console.log(result.verdict.failures.length > 0 ? explain(result) : summarize(result));
      expect(result.verdict.failures.length, explain(result)).toBe(0);
    },
    plan.settings.durationMs + 300_000,
  );

  afterAll(async () => {
    if (plan.resultsFolder !== undefined) {
      await writeChurnResults(path.resolve(import.meta.dirname, '../../..', plan.resultsFolder), results);
    }
  });
});
