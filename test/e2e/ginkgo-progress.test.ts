import { expect, it } from 'vitest';
import { GinkgoProgress, type ProgressStep } from './ginkgo-progress.js';

it('counts the specs that have ended, and names those that did not pass', () => {
  const steps: ProgressStep[] = [];
  const progress = new GinkgoProgress((step) => steps.push(step));
  progress.read('Running in parallel across 4 processes\n\n');
  progress.read('••');
  progress.read('•\n------------------------------\n• [FAILED] [2.1 sec');
  progress.read('onds]\n[sig-x] A [It] breaks [x]\n  Timeline >>\n------------------------------\n');
  progress.read('•');
  expect(steps).toEqual([
    { ended: 2, failed: 0, newlyFailed: [] },
    { ended: 4, failed: 0, newlyFailed: [] },
    { ended: 4, failed: 1, newlyFailed: ['[sig-x] A [It] breaks [x]'] },
    { ended: 5, failed: 1, newlyFailed: [] },
  ]);
});
