import { expect, it } from 'vitest';
import { DesiredPods } from '../../pods/loop/desired-pods.js';
import { aPod } from '#testing/builders.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { workersHarness } from '#support/harness/workers-harness.js';
import { countPods } from './count-pods.js';

it('pods are counted by their source, by whether somebody wants them, and by where in their life they are', async () => {
  const { workers, look, succeed } = workersHarness();
  const desired = new DesiredPods();
  const ephemeral = { name: 'debug', image: 'i' };
  const kept = aNodePod({ name: 'kept', spec: { ephemeralContainers: [ephemeral, ephemeral] } });
  const ended = aNodePod({ name: 'ended' });
  const given = aNodePod({ name: 'given', source: 'api' });
  const rejected = aNodePod({ name: 'rejected' });
  const left = aNodePod({ name: 'left' });
  for (const pod of [kept, ended, given, rejected]) desired.set(pod);
  desired.setRejection('uid-rejected', { reason: 'OutOfcpu', message: '' });
  for (const pod of [kept, ended, given, left]) workers.updatePod({ type: 'create', pod });
  await look();
  await succeed();
  workers.updatePod({ type: 'kill', pod: ended });
  await look();
  await succeed();
  workers.updatePod({ type: 'kill', pod: left });
  workers.updatePod({ type: 'kill', runningPod: aPod({ name: 'unknown' }) });
  await look();
  const counts = countPods({ desired, workers });
  expect(counts.desired).toEqual({ static: 3, other: 1 });
  expect(counts.active).toEqual({ static: 1, other: 1 });
  expect(counts.ephemeralContainers).toBe(2);
  expect([...counts.working]).toEqual([
    { lifecycle: 'sync', config: 'desired', isStatic: true },
    { lifecycle: 'terminated', config: 'desired', isStatic: true },
    { lifecycle: 'sync', config: 'desired', isStatic: false },
    { lifecycle: 'terminating', config: 'orphan', isStatic: true },
    { lifecycle: 'terminating', config: 'runtime_only', isStatic: false },
  ]);
});
