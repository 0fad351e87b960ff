import { describe, expect, it } from 'vitest';
import { type EphemeralContainer } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Forbiddable } from '#kube/node/node-policy.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { aNodePod, type NodePodBlueprint } from '#support/builders/node-pod-builder.js';
import { aServedStatus } from '#support/harness/served-pods-harness.js';
import { type ServedPod } from '../../api/objects/served-pod.js';
import { debugPods } from './debug-pod.js';

interface SetUp {
  readonly forbid?: readonly Forbiddable[];
  readonly add?: () => Promise<boolean>;
  readonly isEnding?: boolean;
}

function setUp(blueprint: NodePodBlueprint = {}, { forbid = [], add, isEnding = false }: SetUp = {}) {
  const written = aNodePod(blueprint);
  const pod: NodePod = { ...written, spec: applyPodDefaults(written).spec };
  const served: ServedPod = { pod, status: aServedStatus(), createdAtMs: 0, deletion: undefined };
  const added: EphemeralContainer[] = [];
  let waits = 0;
  const debug = debugPods({
    debugged: {
      add: async (_, containers) => {
        added.push(...containers);
        return (await add?.()) === false ? 'gone' : 'added';
      },
    },
    desired: {
      find: () => ({ ...pod, spec: { ...pod.spec, ephemeralContainers: added } }),
    },
    manifests: { untilSeen: async (isSeen) => void (waits += isSeen() ? 1 : 0) },
    policy: { forbid: new Set(forbid), allowedHostPaths: undefined },
    isEnding: () => isEnding,
  });
  const modes = { isDryRun: false, signal: new AbortController().signal };
  const send = (list: readonly unknown[], more: Partial<ServedPod> = {}, isDryRun = false) =>
    debug({ ...served, ...more }, list, { ...modes, isDryRun });
  return { send, added, pod, waits: () => waits };
}

const DEBUGGER = { name: 'debugger', image: 'tools:1' };
const OLD = { name: 'old', image: 'tools:1' };
const FULL = {
  ...{ imagePullPolicy: 'IfNotPresent', terminationMessagePath: '/dev/termination-log' },
  terminationMessagePolicy: 'File',
};

describe('a list of ephemeral containers', () => {
  it('adds what is new in it, with defaults, and waits until the agent has it', async () => {
    const { send, added, waits } = setUp();
    const { pod } = await send([{ ...DEBUGGER, resources: {}, targetContainerName: 'main' }]);
    expect(added).toMatchObject([{ ...DEBUGGER, ...FULL, targetContainerName: 'main' }]);
    expect(pod.spec.ephemeralContainers).toEqual(added);
    expect(waits()).toBe(1);
  });

  it('adds nothing when it is as it was, or in a dry run', async () => {
    const { send, added, pod } = setUp({ spec: { ephemeralContainers: [OLD] } });
    await send(JSON.parse(JSON.stringify(pod.spec.ephemeralContainers)) as unknown[]);
    const list = [...pod.spec.ephemeralContainers!, DEBUGGER];
    const { pod: planned } = await send(list, {}, true);
    expect(planned.spec.ephemeralContainers?.map(({ name }) => name)).toEqual(['old', 'debugger']);
    expect(added).toEqual([]);
    await send(list);
    expect(added.map(({ name }) => name)).toEqual(['debugger']);
  });

  it.each([
    [
      [DEBUGGER],
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "old" may not be removed',
    ],
    [
      [{ ...OLD, image: 'tools:2' }],
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "old" may not be changed',
    ],
    [[OLD, { ...DEBUGGER, name: 'main' }], 'spec.ephemeralContainers[1].name: Duplicate value: "main"'],
    [
      [OLD, { ...DEBUGGER, targetContainerName: 'nobody' }],
      'spec.ephemeralContainers[1].targetContainerName: Not found: "nobody"',
    ],
    [[OLD, { name: 'debugger' }], 'spec.ephemeralContainers[1].image: Required value'],
    [
      [OLD, { ...DEBUGGER, ports: [{ containerPort: 80 }] }],
      'spec.ephemeralContainers[1].ports: Forbidden: cannot be set for an Ephemeral Container',
    ],
  ])('is refused as %j', async (list, words) => {
    const { send, added } = setUp({ spec: { ephemeralContainers: [OLD] } });
    await expect(send(list)).rejects.toMatchObject({ reason: 'Invalid', code: 422 });
    await expect(send(list)).rejects.toThrow(`Pod "web" is invalid: ${words}`);
    expect(added).toEqual([]);
  });

  it('is refused for what the node forbids', async () => {
    const { send, added } = setUp({}, { forbid: ['privileged'] });
    await expect(send([{ ...DEBUGGER, securityContext: { privileged: true } }])).rejects.toThrow(
      'pods "web" is forbidden: spec.ephemeralContainers[0].securityContext.privileged: Forbidden: this node runs with --forbid=privileged',
    );
    expect(added).toEqual([]);
  });

  it('is refused for pods that are ending, belong to a cluster, or are wanted no more', async () => {
    const deletion = { deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds: 1 };
    await expect(setUp().send([DEBUGGER], { deletion })).rejects.toThrow(
      'Operation cannot be fulfilled on pods "web": it is being deleted',
    );
    await expect(setUp({ source: 'api' }).send([DEBUGGER])).rejects.toThrow(
      'it belongs to the cluster that this node is part of; use "kubectl debug" there',
    );
    const gone = setUp({}, { add: async () => false });
    await expect(gone.send([DEBUGGER])).rejects.toThrow('pods "web": its manifest is gone');
    await expect(setUp({}, { isEnding: true }).send([DEBUGGER])).rejects.toThrow('the agent is ending');
  });

  it('is answered with an error when it cannot be written to the disk', async () => {
    const { send } = setUp({}, { add: () => Promise.reject(new Error('no space left')) });
    await expect(send([DEBUGGER])).rejects.toMatchObject({
      code: 500,
      message: 'no container was added, as this cannot be written to the disk: no space left',
    });
  });
});
