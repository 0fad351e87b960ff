import { describe, expect, it } from 'vitest';
import { type PodLifecycleEvent } from '../../../node/observer.js';
import { SystemClock } from '#base/time/clock.js';
import { describeNoMatch, type EventFilter, matchesFilter as matches } from './event-filter.js';

/** On the node n1. */
const matchesFilter = (event: PodLifecycleEvent, filter: Omit<EventFilter, 'nodeName'>): boolean =>
  matches(event, { ...filter, nodeName: 'n1' });

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

  it('knows a pod of a manifest without the name of the node', () => {
    const pod = { uid: 'u', namespace: 'default', name: 'crash-n1' };
    for (const each of ['crash', 'default/crash', 'crash-n1', 'default/crash-n1']) {
      expect(matchesFilter({ ...ofWeb, pod }, { namespace: undefined, pod: each }), each).toBe(true);
    }
    for (const each of ['cras', 'other/crash', 'crash-n', 'crash-n2']) {
      expect(matchesFilter({ ...ofWeb, pod }, { namespace: undefined, pod: each }), each).toBe(false);
    }
  });
});

describe('a filter that no pod passes', () => {
  const pods = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ uid: name, namespace: 'default', name }));
  const describeIt = (count: number, pod: string | undefined) =>
    describeNoMatch(pods.slice(0, count), { namespace: undefined, pod, nodeName: 'n1' });

  it('is named, with the pods that there are', () => {
    expect(describeIt(0, 'typo')).toBe('There is no pod typo yet; there is none at all');
    expect(describeIt(2, 'x/a')).toBe('There is no pod x/a yet; there is default/a, default/b');
    expect(describeIt(6, 'typo')).toMatch(/default\/e and 1 more$/);
  });

  it('is none where one passes, or nothing was asked for', () => {
    expect([describeIt(2, 'b'), describeIt(2, undefined)]).toEqual([undefined, undefined]);
  });
});
