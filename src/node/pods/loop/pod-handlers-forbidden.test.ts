import { describe, expect, it, vi } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { POD_FORBIDDEN } from '#kube/node/node-policy.js';
import { aPod, aPodStatus } from '#testing/builders.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { setUpHandlers } from '#support/harness/pod-handlers-harness.js';
import { type Stamp } from '#base/time/clock.js';
import { toRunDefinition } from './asks-for-new-run.js';
import { type Rejection } from './desired-pods.js';

const web = aNodePod();
const db = aNodePod({ name: 'db' });

describe('what the node forbids', () => {
  const rejection = { reason: POD_FORBIDDEN, message: 'not here' };
  const isPrivileged = ({ spec }: NodePod): boolean =>
    spec.containers.some(({ securityContext }) => securityContext?.privileged === true);
  const findForbidden = (pod: NodePod): Rejection | undefined => (isPrivileged(pod) ? rejection : undefined);
  const privileged = aNodePod({
    spec: { containers: [{ ...web.spec.containers[0]!, securityContext: { privileged: true } }] },
  });
  const kill = { statusOverride: { phase: 'Failed', ...rejection } };

  it('does not begin, and says so', () => {
    const { handlers, desired, rejected, asked } = setUpHandlers({ findForbidden });
    handlers.handlePodAdditions([privileged, db]);
    handlers.handlePodSyncs([privileged]);
    expect(asked()).toEqual(['create uid-db']);
    expect(rejected).toEqual([['uid-web', rejection]]);
    expect(desired.findRejection('uid-web')).toEqual(rejection);
  });

  it('is ended where it runs, as after a start of the agent with other options, and syncs bring it to its end', () => {
    const onRejected = vi.fn();
    const { handlers, cache, requests } = setUpHandlers({ findForbidden, onRejected });
    cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    handlers.handlePodAdditions([privileged]);
    expect(requests).toEqual([{ type: 'kill', pod: privileged, kill }]);
    expect(onRejected).toHaveBeenCalledExactlyOnceWith(privileged, rejection, true);
    handlers.handlePodSyncs([privileged]);
    expect(requests.at(-1)).toEqual({ type: 'sync', pod: privileged });
  });

  it('is ended when an edit asks for it, and holds what it has until then', async () => {
    const seen: string[][] = [];
    const set = setUpHandlers({
      findForbidden,
      admit: (_, active) => {
        seen.push([...active.uids()]);
        return { admit: true };
      },
    });
    const { handlers, requests, ended } = set;
    handlers.handlePodAdditions([web]);
    handlers.handlePodUpdates([privileged]);
    expect(requests.at(-1)).toEqual({ type: 'kill', pod: privileged, kill });
    handlers.handlePodAdditions([db]);
    ended.add('uid-web');
    handlers.podEndChanged('uid-web');
    handlers.handlePodAdditions([aNodePod({ name: 'c' })]);
    expect(seen.slice(1)).toEqual([['uid-web'], ['uid-db']]);
  });

  it('runs again once an edit does not ask for it any more', () => {
    const { handlers, desired, ended, asked } = setUpHandlers({ findForbidden });
    handlers.handlePodAdditions([web]);
    handlers.handlePodUpdates([privileged]);
    ended.add('uid-web');
    handlers.handlePodUpdates([web]);
    expect(asked()).toEqual(['create uid-web', 'kill uid-web', 'create uid-web']);
    expect(desired.findRejection('uid-web')).toBeUndefined();
  });

  it('does not come back in the place of a pod that is ending', () => {
    const { handlers, ended, asked } = setUpHandlers({ findForbidden });
    handlers.handlePodAdditions([web]);
    handlers.handlePodRemoves([web]);
    ended.add('uid-web');
    handlers.handlePodAdditions([privileged]);
    expect(asked()).toEqual(['create uid-web', 'kill uid-web']);
  });

  it('leaves a pod that has ended as it ended, unless an edit would have it run again', () => {
    const end = { isFinished: true, definition: toRunDefinition(privileged) };
    const { handlers, rejected } = setUpHandlers({ findForbidden, findEnd: () => end });
    handlers.handlePodAdditions([privileged]);
    expect(rejected).toEqual([]);
    const spec = { containers: [{ ...privileged.spec.containers[0]!, command: ['other'] }] };
    handlers.handlePodUpdates([aNodePod({ spec })]);
    expect(rejected).toEqual([['uid-web', rejection]]);
  });

  it('ends when it is deleted, as any other pod', () => {
    const { handlers, asked } = setUpHandlers({ findForbidden });
    handlers.handlePodAdditions([web]);
    const deleted = {
      ...privileged,
      metadata: { ...privileged.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    handlers.handlePodUpdates([deleted]);
    expect(asked()).toEqual(['create uid-web', 'update uid-web']);
  });
});
