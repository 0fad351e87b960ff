import { expect, it } from 'vitest';
import { COMPLAINT_EVERY_MS, HealthLog } from './health-log.js';

const COMPLAINT =
  'E0704 10:26:42.444214 1 kubelet.go:2412] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m5s ago"';

it('keeps when a kubelet says that its generator is not healthy, until it says so no more', () => {
  let nowMs = 0;
  const log = new HealthLog(() => nowMs);
  log.note(COMPLAINT);
  nowMs = 1_000;
  log.note(COMPLAINT);
  log.note('I0704 10:26:42.444214 1 kubelet.go:1] "SyncLoop ADD" source="file"');
  expect([log.findFirst(0), log.findFirst(500), log.findLast(0)]).toEqual([0, 1_000, 1_000]);
  expect(log.isQuiet()).toBe(false);
  nowMs += COMPLAINT_EVERY_MS + 1;
  expect(log.isQuiet()).toBe(true);
  expect(log.findFirst(1_001)).toBeUndefined();
});
