import { expect, it } from 'vitest';
import { ANNOTATIONS, LABELS } from '../../../watch/observed/labels.js';
import { type ObservedPod } from '../../../watch/observed/runtime.js';
import { aContainerStatus, aPod, aPodStatus, aSandboxStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { readPodParts } from './read-pod-parts.js';

const OURS = { [LABELS.podUid]: 'uid-web', [LABELS.nodeInstance]: 'node-1' };
const FAILED = new Error('no such record');

interface Scene {
  readonly pod?: ObservedPod | undefined;
  /** Ids of parts whose status fails, and of those whose status never comes. */
  readonly failing?: readonly string[];
  readonly hanging?: readonly string[];
}

function look({ pod = aPod(), failing = [], hanging = [] }: Scene, signal = new AbortController().signal) {
  const clock = new FakeClock();
  const looked = readPodParts(
    'uid-web',
    {
      clock,
      runtime: {
        findPod: () => Promise.resolve(pod),
        getPodStatus: ({ sandboxes, containers }) => {
          const ids = [...sandboxes, ...containers].map(({ id }) => id);
          if (ids.some((id) => hanging.includes(id))) return new Promise(() => undefined);
          if (ids.some((id) => failing.includes(id))) return Promise.reject(FAILED);
          return Promise.resolve(
            aPodStatus(aPod(), {
              sandboxes: sandboxes.map((each) => aSandboxStatus(each, { labels: OURS })),
              containers: containers.map((each) =>
                aContainerStatus(each, {
                  labels: { ...OURS, [LABELS.containerName]: each.name },
                  annotations: { [ANNOTATIONS.type]: 'regular' },
                }),
              ),
            }),
          );
        },
      },
    },
    signal,
  );
  return { clock, looked };
}

const twoContainers = (state: 'running' | 'exited' | 'unknown') =>
  aPod({ containers: [{ name: 'main' }, { name: 'side', state }] });

it('shows the whole pod where the runtime reports all of it', async () => {
  const { sandboxes, containers, ips, uid } = await look({ pod: twoContainers('exited') }).looked;
  expect(uid).toBe('uid-web');
  expect(sandboxes.map(({ id }) => id)).toEqual(['uid-web-sandbox-0']);
  expect(containers.map(({ name, exitCode }) => [name, exitCode])).toEqual([
    ['main', 0],
    ['side', 0],
  ]);
  expect(containers.some(({ isListedOnly }) => isListedOnly)).toBe(false);
  expect(ips).toEqual(['10.88.0.2']);
});

it('shows of a container that fails what is listed, and makes no success of its end', async () => {
  const pod = twoContainers('exited');
  const { containers } = await look({ pod, failing: ['uid-web-side-0'] }).looked;
  expect(containers.find(({ name }) => name === 'main')?.isListedOnly).toBeUndefined();
  expect(containers.find(({ name }) => name === 'side')).toMatchObject({
    ...{ id: 'uid-web-side-0', state: 'exited', exitCode: 137, reason: 'ContainerStatusUnknown' },
    ...{ sandboxId: 'uid-web-sandbox-0', labels: OURS, isListedOnly: true },
  });
});

it('gives up what hangs, and waits for it no longer than for one', async () => {
  const pod = twoContainers('running');
  const { clock, looked } = look({ pod, hanging: ['uid-web-main-0', 'uid-web-side-0'] });
  await clock.advance(10_000);
  expect((await looked).containers).toMatchObject([
    { name: 'main', state: 'running', labels: OURS, isListedOnly: true },
    { name: 'side', state: 'running', labels: OURS, isListedOnly: true },
  ]);
});

it('knows whose a sandbox is by a container in it', async () => {
  const { sandboxes } = await look({ failing: ['uid-web-sandbox-0'] }).looked;
  expect(sandboxes).toMatchObject([{ id: 'uid-web-sandbox-0', state: 'running', labels: OURS }]);
  expect(Object.keys(sandboxes[0]!.labels)).not.toContain(LABELS.containerName);
});

it.each(['running', 'unknown'] as const)(
  'fails where the owner is unknown of something that is %s',
  async (state) => {
    const pod = aPod({ sandboxes: [], containers: [{ name: 'main', state }] });
    await expect(look({ pod, failing: ['uid-web-main-0'] }).looked).rejects.toBe(FAILED);
  },
);

it('leaves out what has ended and has no known owner', async () => {
  const lost = { name: 'lost', state: 'exited', sandboxId: 'gone' } as const;
  const pod = aPod({ containers: ['main', lost] });
  const { containers } = await look({ pod, failing: ['uid-web-lost-0'] }).looked;
  expect(containers.map(({ name }) => name)).toEqual(['main']);
});

it('shows nothing of a pod that is gone', async () => {
  const clock = new FakeClock();
  const runtime = {
    findPod: () => Promise.resolve(undefined),
    getPodStatus: () => Promise.reject(FAILED),
  };
  const { signal } = new AbortController();
  expect(await readPodParts('uid-web', { clock, runtime }, signal)).toMatchObject({
    ...{ uid: 'uid-web', sandboxes: [], containers: [] },
  });
});

it('fails when the list does, and with the reason of its signal', async () => {
  const clock = new FakeClock();
  const runtime = { findPod: () => Promise.reject(FAILED), getPodStatus: () => Promise.reject(FAILED) };
  const { signal } = new AbortController();
  await expect(readPodParts('uid-web', { clock, runtime }, signal)).rejects.toBe(FAILED);
  const ending = new AbortController();
  const { looked } = look({ hanging: ['uid-web-main-0'] }, ending.signal);
  await clock.settle();
  ending.abort(new Error('closed'));
  await expect(looked).rejects.toThrow('closed');
});
