import { expect, it } from 'vitest';
import { aSpecPod } from '#support/builders/node-pods.js';
import { somePodActionInputs } from '#support/builders/pod-action-inputs.js';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { PodRecreation } from './recreate-pod.js';

const SIGNAL = new AbortController().signal;

function aScene() {
  const done: string[] = [];
  const scene = { done, isOutdated: true };
  const recreation = new PodRecreation({
    planner: { isOutdated: () => scene.isOutdated },
    volumes: { tearDown: () => Promise.resolve(void done.push('volumes')) },
    statuses: { renew: () => void done.push('status') },
    startFailures: { forget: () => void done.push('start failures') },
    replaced: {
      keep: (_, ids) => {
        done.push(`keep ${ids.join()}`);
        return Promise.resolve();
      },
    },
    events: { record: (_, { reason }) => void done.push(reason) },
    logger: SILENT_LOGGER,
    end: (pod) => {
      done.push('end');
      return Promise.resolve(emptyPodStatus(pod.metadata.uid));
    },
  });
  const { observed } = somePodActionInputs({ sandboxes: [{ id: 's1' }] });
  const clear = (pod: NodePod) => recreation.clear(pod, observed, SIGNAL);
  return { ...scene, scene, clear };
}

it('clears an edited pod of all that it had, once for each edit', async () => {
  const { done, scene, clear } = aScene();
  const pod = aSpecPod({ hostNetwork: true });
  expect(await clear(pod)).toBeDefined();
  expect(done.splice(0)).toEqual([
    ...['SandboxChanged', 'keep s1', 'end', 'volumes', 'start failures', 'status'],
  ]);
  expect(await clear(pod)).toBeUndefined();
  expect(done).toEqual([]);
  expect(await clear(aSpecPod({ hostPID: true }))).toBeDefined();
  // It was made, and later edited back.
  scene.isOutdated = false;
  expect(await clear(aSpecPod({ hostPID: true }))).toBeUndefined();
  scene.isOutdated = true;
  expect(await clear(aSpecPod({ hostPID: true }))).toBeDefined();
});

it('recreates nothing that is being deleted', async () => {
  const { done, clear } = aScene();
  const pod = aSpecPod({ hostNetwork: true });
  const metadata = { ...pod.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' };
  expect(await clear({ ...pod, metadata })).toBeUndefined();
  expect(done).toEqual([]);
});
