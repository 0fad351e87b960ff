import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ControlledWorkload } from './workload-record.js';
import { WorkloadNode } from '#support/harness/workload-node.js';

let node: WorkloadNode;
beforeEach(async () => void (node = await WorkloadNode.open()));
afterEach(async () => node[Symbol.asyncDispose]());

const JOB = {
  ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'sum' } },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a:1' }] } } },
};

describe('the workloads of an agent', () => {
  it('hand on no pod before it is on the disk that it is wanted', async () => {
    await node.breakDisk();
    await node.apply(JOB);
    expect([node.names(), node.isComplete]).toEqual([[], false]);
    await node.mendDisk();
    await node.pass(10);
    expect([node.names().length, node.isComplete]).toEqual([1, true]);
  });

  it('count no end before it is on the disk', async () => {
    await node.apply(JOB);
    await node.breakDisk();
    await node.end(node.names()[0]!, 'Succeeded');
    expect(node.trees[0]!.root.progress.conditions).toBeUndefined();
    expect(node.events.map(({ reason }) => reason)).toEqual(['SuccessfulCreate']);
    await node.mendDisk();
    await node.pass(10);
    expect(node.events.map(({ reason }) => reason)).toEqual(['SuccessfulCreate', 'Completed']);
  });

  const webOf = (image: string) => ({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: { app: 'web' } } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'a', image }] },
      },
    },
  });
  const place = { namespace: 'default', name: 'web' };
  const toThree = (object: ControlledWorkload): ControlledWorkload =>
    ({ ...object, spec: { ...object.spec, replicas: 3 } }) as ControlledWorkload;

  it('are changed beside their manifest until that says something else', async () => {
    await node.apply(webOf('a:1'));
    expect(await node.change('Deployment', place, toThree)).toBe(true);
    expect(node.names()).toHaveLength(3);
    await node.restart();
    await node.apply(webOf('a:1'));
    expect([node.names().length, node.trees[0]!.root.generation]).toEqual([3, 2]);
    await node.apply(webOf('a:2'));
    expect(node.trees[0]!.root.object.spec).toMatchObject({ replicas: 1 });
    expect(node.trees[0]!.written).toBeUndefined();
  });

  it('are not changed where they are not there, or the disk does not take it', async () => {
    expect(await node.change('Deployment', place, toThree)).toBe(false);
    await node.apply(webOf('a:1'));
    await node.breakDisk();
    await expect(node.change('Deployment', place, toThree)).rejects.toThrow(
      'the record of the Deployment default/web cannot be written to the disk: EEXIST',
    );
    await node.mendDisk();
    expect(node.trees[0]!.root.object.spec).toMatchObject({ replicas: 1 });
  });

  it('stay as they are where the disk takes no edit, which keeps no other pod from its end', async () => {
    await node.apply(webOf('a:1'));
    const names = node.names();
    await node.breakDisk();
    await node.apply(webOf('a:2'));
    expect([node.names(), node.isComplete]).toEqual([names, true]);
    await node.mendDisk();
    await node.pass(10);
    expect(node.trees[0]!.root.generation).toBe(2);
  });

  it('say which claims they have', async () => {
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data' } };
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const set = {
      ...webOf('a:1'),
      kind: 'StatefulSet',
      spec: { ...webOf('a:1').spec, volumeClaimTemplates: [{ metadata: { name: 'disk' }, spec }] },
    };
    await node.apply({ ...claim, spec }, set);
    expect(node.declared()).toEqual([
      { source: 'file', namespace: 'default', name: 'data' },
      { source: 'file', namespace: 'default', name: 'disk-web-0', owner: 'StatefulSet default/web' },
    ]);
  });

  it('do not begin again where a record is damaged', async () => {
    await node.apply(JOB);
    await node.damageRecords();
    await expect(node.restart()).rejects.toMatchObject({
      code: 'FOLDER_UNUSABLE',
      message: expect.stringMatching(/remove it to have its workload begin from nothing/) as string,
    });
  });

  it('are complete as soon as their source is, where there are none', async () => {
    await node.apply();
    expect([node.names(), node.isComplete]).toEqual([[], true]);
  });

  it('are those of their own source', async () => {
    await node.apply(JOB, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } });
    expect(node.wanted[0]!.metadata.annotations).toMatchObject({ 'kubernetes.io/config.source': 'file' });
  });
});
