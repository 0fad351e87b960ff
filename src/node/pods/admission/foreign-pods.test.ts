import { describe, expect, it } from 'vitest';
import { ANNOTATIONS, LABELS } from '../../../watch/observed/labels.js';
import { ownedBy } from '../../../watch/observed/ownership.js';
import { type PodOwner, type PodStatus } from '../../../watch/observed/runtime.js';
import { aContainerStatus, aPod, aPodStatus, aSandboxStatus } from '#testing/builders.js';
import { FakePodSyncer } from '#support/fakes/fake-pod-syncer.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { findForeignClaim, isForeign } from './foreign-pods.js';
import { ForeignPodsWatch, sparingForeignPods } from './foreign-pods-watch.js';

const isOurs = ownedBy('me');

interface Blueprint {
  readonly uid?: string;
  readonly name?: string;
  readonly owner?: PodOwner;
  readonly mark?: string;
  readonly state?: 'running' | 'exited';
  /** The annotation with the container's ports. */
  readonly ports?: string;
}

function shown({
  uid = 'other',
  name,
  owner = 'kubernetes',
  mark = '',
  state = 'running',
  ports,
}: Blueprint = {}): PodStatus {
  const pod = aPod({ uid, ...(name === undefined ? {} : { name }), owner, sandboxes: [{ state }] });
  const labels = { [LABELS.podUid]: uid, ...(mark === '' ? {} : { [LABELS.nodeInstance]: mark }) };
  const annotations: Record<string, string> = ports === undefined ? {} : { [ANNOTATIONS.ports]: ports };
  return aPodStatus(pod, {
    sandboxes: [aSandboxStatus(pod.sandboxes[0], { labels })],
    containers: [aContainerStatus({ ...pod.containers[0]!, state }, { labels, annotations })],
  });
}

const web = aNodePod();
const onPort = aNodePod({
  spec: { containers: [{ name: 'main', image: 'a', ports: [{ containerPort: 80, hostPort: 8080 }] }] },
});

describe('what is ours', () => {
  it('is what carries our mark, and what nobody has marked in a pod that we have adopted', () => {
    const mine = ownedBy('me', (uid) => uid === 'adopted');
    const left = { [LABELS.podUid]: 'adopted' };
    const inPod = (labels: Readonly<Record<string, string>>): boolean => mine(labels, 'adopted');
    expect(inPod(left)).toBe(true);
    expect(inPod({ ...left, [LABELS.nodeInstance]: 'me' })).toBe(true);
    expect(inPod({ ...left, [LABELS.nodeInstance]: 'you' })).toBe(false);
    // Somebody has put it there by hand.
    expect(inPod({})).toBe(false);
    expect(mine({ [LABELS.podUid]: 'other' }, 'other')).toBe(false);
  });

  it('is recognized by a pod’s sandboxes', () => {
    expect(isForeign(shown({ mark: 'me' }), isOurs)).toBe(false);
    expect(isForeign(shown({ mark: 'you' }), isOurs)).toBe(true);
    expect(isForeign(aPodStatus(aPod({ sandboxes: [], containers: [] })), isOurs)).toBe(false);
    const byHand = { ...shown({ mark: 'me' }), containers: shown({ mark: '' }).containers };
    expect(isForeign(byHand, isOurs)).toBe(false);
  });
});

describe('a pod of somebody else’s', () => {
  it.each<[string, Blueprint]>([
    ['has another name', { name: 'db' }],
    ['is ours', { uid: 'uid-web', mark: 'me' }],
    ['has ended', { state: 'exited' }],
  ])('is nothing to speak of when it %s', (_, other) => {
    expect(findForeignClaim(web, [shown(other)], isOurs)).toEqual({});
  });

  it('has ours run beside it when only the name is the same', () => {
    expect(findForeignClaim(web, [shown()], isOurs)).toMatchObject({
      rejection: undefined,
      warning: expect.stringMatching(
        /kubelet with the uid other.*left alone.*beside it\. With --adopt/,
      ) as string,
    });
    const { warning } = findForeignClaim(web, [shown({ owner: 'podloop', mark: 'you' })], isOurs);
    expect(warning).toMatch(/^a pod of another podloop \(you\) .*beside it$/);
  });

  it.each([
    ['[{"hostPort":8080,"containerPort":1,"protocol":"TCP"}]', 'NodePorts'],
    ['[{"hostPort":8080,"protocol":"UDP"}]', undefined],
    ['[{"hostPort":8081}]', undefined],
    ['[{"containerPort":8080}, null, 1]', undefined],
    ['no json', undefined],
    ['{}', undefined],
  ])('keeps ours of the same name from its ports: %s', (ports, reason) => {
    expect(findForeignClaim(onPort, [shown({ ports })], isOurs).rejection?.reason).toBe(reason);
  });

  it.each(['running', 'exited'] as const)('leaves no room under its own uid, %s', (state) => {
    const { rejection } = findForeignClaim(web, [shown({ uid: 'uid-web', name: 'any', state })], isOurs);
    expect(rejection?.reason).toBe('ForeignPod');
  });
});

describe('the watch over pods of others', () => {
  it('says once what stands in the way, and has the pod judged again when that is gone', () => {
    const logger = new LogRecorder();
    const freed: string[] = [];
    const statuses = new Map([['uid-web', shown({ uid: 'uid-web' })]]);
    const watch = new ForeignPodsWatch({
      ...{ logger, isOurs },
      cache: {
        uids: () => statuses.keys(),
        getLastKnown: (uid) => statuses.get(uid)!,
      },
      desired: { find: (uid) => (uid === 'uid-web' ? web : undefined) },
      onFree: (pod) => void freed.push(pod.metadata.uid),
    });
    expect(watch.findObstacle(web)?.reason).toBe('ForeignPod');
    expect(watch.findObstacle(web)?.reason).toBe('ForeignPod');
    watch.cleanUp();
    expect(freed).toEqual([]);
    statuses.clear();
    watch.cleanUp();
    watch.cleanUp();
    expect(freed).toEqual(['uid-web']);
    expect(logger.complaints).toHaveLength(1);
  });
});

describe('a syncer that spares pods of others', () => {
  it('fails to sync what has their uid, and has nothing to end', async () => {
    const inner = new FakePodSyncer();
    const syncer = sparingForeignPods(inner, isOurs);
    const { signal } = new AbortController();
    const observed = shown({ uid: 'uid-web' });
    await expect(syncer.syncPod({ reason: 'sync', pod: web, observed }, signal)).rejects.toMatchObject({
      code: 'POD_SYNC_FAILED',
    });
    await syncer.syncTerminatingPod({ pod: web, observed, gracePeriodSeconds: 1 }, signal);
    expect(inner.log).toEqual([]);
  });
});
