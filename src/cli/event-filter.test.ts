import { describe, expect, it } from 'vitest';
import { type PodLifecycleEvent } from '../agent/observer.js';
import { SystemClock } from '../util/clock.js';
import { matchesFilter } from './event-filter.js';

const base = { trigger: 'relist', stamp: new SystemClock().stamp(), observedAtMs: 0, folded: 1 } as const;
const ofWeb: PodLifecycleEvent = {
  ...base,
  type: 'PodSync',
  pod: { uid: 'b3e6', namespace: 'default', name: 'web' },
};

describe('the filter of watch', () => {
  it('takes everything when it names nothing', () => {
    expect(matchesFilter(ofWeb, { namespace: undefined, pod: undefined })).toBe(true);
  });

  it('knows a pod by its name, its namespace and name, and its uid', () => {
    for (const pod of ['web', 'default/web', 'b3e6']) {
      expect(matchesFilter(ofWeb, { namespace: undefined, pod }), pod).toBe(true);
    }
    for (const pod of ['we', 'other/web', 'default', '']) {
      expect(matchesFilter(ofWeb, { namespace: undefined, pod }), pod).toBe(false);
    }
  });

  it('wants both the namespace and the pod when both are named', () => {
    expect(matchesFilter(ofWeb, { namespace: 'default', pod: 'web' })).toBe(true);
    expect(matchesFilter(ofWeb, { namespace: 'kube-system', pod: 'web' })).toBe(false);
  });

  it('always passes on what stands for every pod', () => {
    expect(matchesFilter({ ...base, type: 'Resync' }, { namespace: 'none', pod: 'none' })).toBe(true);
  });
});
