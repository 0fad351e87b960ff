import { describe, expect, it } from 'vitest';

import { explain, summarize } from './churn-report.js';
import { readChurnPlan } from './churn-plan.js';
import { runChurn } from './run-churn.js';

const plan = readChurnPlan(process.env);

describe('churn on a real containerd', () => {
  it.each(plan.configurations)(
    'tells every end exactly once: $mode on $release through $through',
    async (configuration) => {
      const result = await runChurn(configuration, plan.settings);
      console.log(summarize(result));
      expect(result.verdict.failures.length, explain(result)).toBe(0);
    },
    plan.settings.durationMs + 240_000,
  );
});
