import { expect, it } from 'vitest';
import { type KubeClient, type WatchEvent } from '../../../src/cluster/client/kube-client.js';
import { type Pod } from '../../../src/cluster/client/kube-objects.js';
import { PodHistory } from './pod-history.js';

/** A pod as one version of it: its phase, and its container's id and restarts. */
function version(phase: string, id: string, restartCount = 0): Pod {
  const main = { ...{ name: 'main', image: '', imageID: '', ready: true }, restartCount };
  return {
    metadata: { namespace: 'default', name: 'web', uid: '1', resourceVersion: '1' },
    spec: { containers: [], nodeName: 'a' },
    status: { phase, containerStatuses: [id === '' ? main : { ...main, containerID: `podloop://${id}` }] },
  };
}

/** What a history complains of that saw these versions, and then the end of the pod. */
async function problemsOf(...versions: readonly Pod[]): Promise<readonly string[]> {
  const end = new AbortController();
  const gone: Pod[] = [];
  const events: WatchEvent<Pod>[] = versions.map((object) => ({ type: 'MODIFIED', object }));
  events.push({ type: 'DELETED', object: versions.at(-1)! });
  const client: KubeClient = {
    request: async <T>() => Promise.resolve({ items: [], metadata: { resourceVersion: '1' } } as T),
    watch: async function* <T>() {
      await Promise.resolve();
      yield* events as WatchEvent<T>[];
      end.abort();
    },
  };
  const history = new PodHistory({ client, onGone: (pod) => gone.push(pod) });
  await history.run(end.signal);
  expect(gone).toHaveLength(1);
  expect(history.pods).toEqual([]);
  return history.problems.map((problem) => problem.replace('pod default/web (1) on a: ', ''));
}

it('says nothing of a pod that is well', async () => {
  expect(
    await problemsOf(
      version('Pending', ''),
      version('Running', 'x'),
      version('Running', 'x'),
      version('Succeeded', 'x'),
    ),
  ).toEqual([]);
});

it('says what was not to happen to a pod', async () => {
  expect(await problemsOf(version('Running', 'x'), version('Pending', 'x'))).toEqual([
    'went from Running to Pending',
  ]);
  expect(await problemsOf(version('Running', 'x'), version('Running', 'y'))).toEqual([
    'main: container x became y',
  ]);
  expect(await problemsOf(version('Running', 'x'), version('Running', ''), version('Running', 'x'))).toEqual([
    'main: container x became none',
  ]);
  expect(await problemsOf(version('Running', 'x', 1), version('Running', 'x'))).toEqual([
    'main was restarted: 1',
    'main: 1 restarts became 0',
  ]);
  expect(await problemsOf(version('Running', 'x'), version('Failed', 'x'))).toEqual(['has failed:  ']);
});
