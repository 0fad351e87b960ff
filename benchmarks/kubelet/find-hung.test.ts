import { expect, it } from 'vitest';
import { findHung } from './find-hung.js';

const pod = (name: string) => ({ uid: `uid-${name}`, namespace: 'default', name });

it('finds those that are said to hang, not those that are only slow, fail or wait for an answer', () => {
  const page = JSON.stringify({
    stuckPods: [
      { pod: pod('pod-1-bench'), state: 'hung' },
      { pod: pod('pod-2-bench'), state: 'failing' },
    ],
    slowestPods: [{ pod: pod('pod-3-bench') }],
    callsInFlight: [{ method: 'ContainerStatus', pod: pod('pod-4-bench') }],
  });
  const names = [1, 2, 3, 4].map((at) => `pod-${at}-bench`);
  expect(findHung(page, names)).toEqual(['pod-1-bench']);
});

it('takes no pod for another whose name begins alike', () => {
  const page = JSON.stringify({ stuckPods: [{ pod: pod('pod-10'), state: 'hung' }] });
  expect(findHung(page, ['pod-1'])).toEqual([]);
});
