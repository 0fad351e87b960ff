import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkloadNode } from '#support/harness/workload-node.js';
import { replicasOf } from './deployment.js';

let node: WorkloadNode;
beforeEach(async () => void (node = await WorkloadNode.open()));
afterEach(async () => node[Symbol.asyncDispose]());

const LABELS = { app: 'web' };
const deploymentOf = (image: string, spec: object = {}) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } },
  spec: {
    ...{ selector: { matchLabels: LABELS }, replicas: 3 },
    template: { metadata: { labels: LABELS }, spec: { containers: [{ name: 'a', image }] } },
    ...spec,
  },
});
const rolling = (maxSurge: number | string, maxUnavailable: number | string) => ({
  strategy: { rollingUpdate: { maxSurge, maxUnavailable } },
});
const images = () =>
  node
    .states()
    .map(({ pod }) => pod.spec.containers[0]!.image)
    .sort()
    .join(' ');
const ofImage = (image: string) => node.states().filter(({ pod }) => pod.spec.containers[0]!.image === image);
const allReady = async (image: string) => node.ready(...ofImage(image).map(({ pod }) => pod.metadata.name));

describe('a Deployment', () => {
  it('has a ReplicaSet, named after its template, and that has the pods', async () => {
    await node.apply(deploymentOf('a:1'));
    const [{ owned }] = node.trees as [(typeof node.trees)[0]];
    const { name } = owned[0]!.object.metadata;
    expect(name).toMatch(/^web-[bcdf-hj-np-tv-z2-9]{10}$/);
    expect(node.names()).toHaveLength(3);
    for (const { pod } of node.states()) {
      expect(pod.metadata.name).toMatch(new RegExp(`^${name}-[a-z0-9]{5}$`));
      expect(pod.metadata.labels).toEqual({ ...LABELS, 'pod-template-hash': name.slice(4) });
      expect(pod.metadata.ownerReferences).toMatchObject([{ kind: 'ReplicaSet', name }]);
    }
    expect(node.events[0]).toMatchObject({ reason: 'ScalingReplicaSet', object: 'web' });
    expect(node.events.filter(({ reason }) => reason === 'SuccessfulCreate')).toHaveLength(3);
  });

  it('keeps its pods over a restart, and replaces one that was deleted or has ended', async () => {
    await node.apply(deploymentOf('a:1'));
    const before = node.names();
    await node.restart();
    node.deliver();
    await node.settle();
    expect(node.names()).toEqual(before);
    node.state(before[0]!).isStopped = true;
    await node.gone();
    await node.end(before[1]!, 'Failed');
    expect(node.names()).toHaveLength(3);
    expect(node.names().filter((name) => before.includes(name))).toEqual([before[2]]);
  });

  it('is scaled by an edit: what is not ready goes first', async () => {
    await node.apply(deploymentOf('a:1'));
    const [one] = node.names() as [string];
    await node.ready(one);
    await node.apply(deploymentOf('a:1', { replicas: 1 }));
    expect(node.names()).toEqual([one]);
    await node.apply(deploymentOf('a:1', { replicas: 0 }));
    expect(node.names()).toEqual([]);
  });

  it('is replaced one by one on an edit: an old pod stays until a new one is ready', async () => {
    await node.apply(deploymentOf('a:1', rolling(1, 0)));
    await allReady('a:1');
    await node.apply(deploymentOf('a:2', rolling(1, 0)));
    for (const expected of ['a:1 a:1 a:1 a:2', 'a:1 a:1 a:2 a:2', 'a:1 a:2 a:2 a:2']) {
      expect(images()).toBe(expected);
      await node.pass(60);
      expect(images()).toBe(expected);
      await allReady('a:2');
    }
    expect(images()).toBe('a:2 a:2 a:2');
  });

  it('without a surge takes old pods away first, as many as may be unavailable', async () => {
    await node.apply(deploymentOf('a:1', rolling(0, 1)));
    await allReady('a:1');
    await node.apply(deploymentOf('a:2', rolling(0, 1)));
    expect(images()).toBe('a:1 a:1 a:2');
    await node.pass(60);
    expect(images()).toBe('a:1 a:1 a:2');
  });

  it('waits for minReadySeconds before a pod counts', async () => {
    const spec = { ...rolling(1, 0), replicas: 1, minReadySeconds: 30 };
    await node.apply(deploymentOf('a:1', spec));
    await allReady('a:1');
    await node.pass(30);
    await node.apply(deploymentOf('a:2', spec));
    await allReady('a:2');
    await node.pass(29);
    expect(images()).toBe('a:1 a:2');
    await node.pass(1);
    expect(images()).toBe('a:2');
  });

  it('goes back to the ReplicaSet that it had, and drops old ones beyond its limit', async () => {
    const versions = ['a:1', 'a:2', 'a:1', 'a:3', 'a:4'];
    for (const image of versions) {
      await node.apply(deploymentOf(image, { replicas: 1, revisionHistoryLimit: 1 }));
      await allReady(image);
      await node.gone();
    }
    const [{ owned, root }] = node.trees as [(typeof node.trees)[0]];
    const used = owned
      .map(({ object }) => object)
      .map((object) => 'template' in object.spec && object.spec.template.spec.containers[0]!.image);
    expect(used.sort()).toEqual(['a:3', 'a:4']);
    expect(root.progress.revision).toBe(5);
  });

  it('with Recreate makes nothing new before all that is old has ended', async () => {
    const spec = { strategy: { type: 'Recreate' } };
    await node.apply(deploymentOf('a:1', spec));
    await node.apply(deploymentOf('a:2', spec));
    expect(images()).toBe('');
    await node.gone();
    expect(images()).toBe('a:2 a:2 a:2');
  });

  it('rolls nothing out while it is paused, and is scaled all the same', async () => {
    await node.apply(deploymentOf('a:1'));
    await node.apply(deploymentOf('a:2', { paused: true, replicas: 4 }));
    expect(images()).toBe('a:1 a:1 a:1 a:1');
  });

  it('goes with its manifest, and not while its source has not read everything', async () => {
    await node.apply(deploymentOf('a:1'));
    const names = node.names();
    await node.restart();
    await node.apply();
    expect(node.names()).toEqual([]);
    await node.apply(deploymentOf('a:1'));
    expect(node.names()).not.toEqual(names);
  });

  it('keeps its pods while its source has not been read to its end', async () => {
    await node.apply(deploymentOf('a:1'));
    const names = node.names();
    await node.restart();
    await node.applyPart();
    expect([node.names(), node.isComplete]).toEqual([names, false]);
  });

  it('never has more pods than its surge allows, and never too few of those that are available', async () => {
    const edit = fc.record({
      image: fc.constantFrom('a:1', 'a:2', 'a:3'),
      replicas: fc.integer({ min: 1, max: 5 }),
    });
    const step = fc.oneof(
      { weight: 1, arbitrary: edit },
      { weight: 4, arbitrary: fc.record({ ready: fc.nat(9) }) },
      { weight: 1, arbitrary: fc.constant({ kill: true }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 2 }),
        fc.integer({ min: 0, max: 2 }),
        fc.array(step, { maxLength: 12 }),
        async (surge, share, steps) => {
          await using lab = await WorkloadNode.open();
          const most = surge + share === 0 ? 1 : share;
          let spec = { image: 'a:1', replicas: 3 };
          const apply = async () =>
            lab.apply(deploymentOf(spec.image, { ...rolling(surge, most), replicas: spec.replicas }));
          await apply();
          const ready = () => lab.states().filter(({ readySinceMs }) => readySinceMs !== undefined).length;
          let least = 0;
          for (const each of steps) {
            if ('image' in each) {
              // What an edit of the number itself takes away is meant.
              spec = each;
              least = Math.min(least, each.replicas - most);
              await apply();
            } else if ('kill' in each) {
              await lab.restart();
              lab.deliver();
              await lab.settle();
            } else {
              const waiting = lab.states().filter(({ readySinceMs }) => readySinceMs === undefined);
              const pod = waiting[each.ready % Math.max(1, waiting.length)]?.pod;
              if (pod !== undefined) await lab.ready(pod.metadata.name);
            }
            await lab.gone();
            const [{ owned }] = lab.trees as [(typeof lab.trees)[0]];
            const total = owned.reduce((sum, record) => sum + replicasOf(record), 0);
            expect(lab.names()).toHaveLength(total);
            expect(ready()).toBeGreaterThanOrEqual(Math.max(0, least));
            least = Math.min(ready(), spec.replicas - most);
          }
          for (let round = 0; round < 12; round++) {
            for (const state of lab.states()) state.readySinceMs ??= lab.clock.now();
            await lab.settle();
            await lab.gone();
          }
          const left = lab.states().map(({ pod }) => pod.spec.containers[0]!.image);
          expect(left).toEqual(Array.from({ length: spec.replicas }, () => spec.image));
        },
      ),
      { numRuns: 10 },
    );
  });
});
