import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
