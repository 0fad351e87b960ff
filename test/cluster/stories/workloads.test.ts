import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Pod } from '../../../src/cluster/client/kube-objects.js';
import { recordResult } from '../../integration/results-page.js';
import { RESTARTS_LABEL } from './pod-history.js';
import { StoryCluster } from './story-cluster.js';
import { findForStories, IS_FULL } from './story-size.js';
import { type PodShape, podTemplate, workload } from './workloads.js';

const found = findForStories();
const APPS = '/apis/apps/v1/namespaces/default';
const BATCH = '/apis/batch/v1/namespaces/default';
const MEMBERS = IS_FULL ? 9 : 3;
const COMPLETIONS = IS_FULL ? 40 : 6;
/** Of a CronJob, one a minute. */
const TURNS = IS_FULL ? 3 : 1;

describe.skipIf('missing' in found)('the workloads of a cluster', { timeout: 900_000 }, () => {
  let cluster: StoryCluster;
  const seconds: Record<string, string> = {};
  let startedAtMs = 0;

  beforeAll(async () => {
    if ('missing' in found) return;
    cluster = await StoryCluster.start(found);
  });

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  afterEach(async () => {
    expect(await cluster.untilAgreed()).toEqual([]);
  });

  const make = async (path: string, body: object): Promise<void> => {
    startedAtMs = performance.now();
    await cluster.plane.admin.request({ method: 'POST', path, body });
  };
  const took = (what: string): void => {
    seconds[`${what}, s`] = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
  };
  const podsOf = async (app: string): Promise<readonly Pod[]> =>
    (await cluster.pods()).filter(({ metadata }) => metadata?.labels?.['app'] === app);
  const job = (name: string, spec: object, shape: PodShape): object => ({
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name } },
    spec: { ...spec, template: podTemplate(name, shape) },
  });

  it('has a DaemonSet with a pod on each node, also after an update', async () => {
    await make(`${APPS}/daemonsets`, workload('DaemonSet', 'each', {}));
    await cluster.kubectl('rollout', 'status', 'daemonset/each', '--timeout=5m');
    took('DaemonSet rolled out');
    startedAtMs = performance.now();
    await cluster.kubectl('set', 'env', 'daemonset/each', 'VERSION=2');
    await cluster.kubectl('rollout', 'status', 'daemonset/each', '--timeout=5m');
    took('DaemonSet updated');
    const pods = await podsOf('each');
    expect(pods.map(({ spec }) => spec?.nodeName).sort()).toEqual(cluster.nodes.map(({ name }) => name));
  });

  it('has a StatefulSet, one after another, also after an update', async () => {
    await make(
      `${APPS}/statefulsets`,
      workload('StatefulSet', 'members', { replicas: MEMBERS, serviceName: 'members' }),
    );
    await cluster.kubectl('rollout', 'status', 'statefulset/members', '--timeout=10m');
    took(`StatefulSet of ${MEMBERS} rolled out`);
    const starts = (await podsOf('members'))
      .toSorted((one, other) => ordinalOf(one) - ordinalOf(other))
      .map(({ status }) => Date.parse(status?.containerStatuses?.[0]?.state?.running?.startedAt ?? ''));
    expect(starts).toEqual(starts.toSorted((one, other) => one - other));
    startedAtMs = performance.now();
    await cluster.kubectl('set', 'env', 'statefulset/members', 'VERSION=2');
    await cluster.kubectl('rollout', 'status', 'statefulset/members', '--timeout=10m');
    took(`StatefulSet of ${MEMBERS} updated`);
    expect(await podsOf('members')).toHaveLength(MEMBERS);
  });

  it('has a Job whose pods run once each', async () => {
    const spec = { completions: COMPLETIONS, parallelism: 4, completionMode: 'Indexed', backoffLimit: 0 };
    const shape = { command: ['sh', '-c', 'sleep 0.3'], more: { restartPolicy: 'Never' } };
    await make(`${BATCH}/jobs`, job('sums', spec, shape));
    await cluster.kubectl('wait', '--for=condition=complete', 'job/sums', '--timeout=10m');
    took(`Job of ${COMPLETIONS} completed`);
    const pods = await podsOf('sums');
    expect(pods).toHaveLength(COMPLETIONS);
    expect(pods.every(({ status }) => status?.phase === 'Succeeded')).toBe(true);
  });

  it('has a Job whose containers fail once and are started again', async () => {
    const command = ['sh', '-c', '[ -e /kept/tried ] || { touch /kept/tried; exit 3; }'];
    const shape = { command, labels: { [RESTARTS_LABEL]: 'once' }, more: { restartPolicy: 'OnFailure' } };
    const body = job('tries', { completions: 3, parallelism: 3 }, shape) as {
      spec: { template: { spec: { containers: object[]; volumes?: object[] } } };
    };
    const { spec } = body.spec.template;
    spec.volumes = [{ name: 'kept', emptyDir: {} }];
    Object.assign(spec.containers[0]!, { volumeMounts: [{ name: 'kept', mountPath: '/kept' }] });
    await make(`${BATCH}/jobs`, body);
    await cluster.kubectl('wait', '--for=condition=complete', 'job/tries', '--timeout=10m');
    took('Job whose containers fail once completed');
    const pods = await podsOf('tries');
    expect(pods.map(({ status }) => status?.containerStatuses?.[0]?.restartCount)).toEqual([1, 1, 1]);
  });

  it('has a CronJob whose old pods go', async () => {
    const shape = { command: ['sh', '-c', 'exit 0'], more: { restartPolicy: 'Never' } };
    const spec = {
      ...{ schedule: '* * * * *', concurrencyPolicy: 'Forbid', successfulJobsHistoryLimit: 1 },
      jobTemplate: { spec: { template: podTemplate('often', shape) } },
    };
    const body = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'often' }, spec };
    await make(`${BATCH}/cronjobs`, body);
    const uids = new Set<string>();
    await cluster.until(`${TURNS} turns of a CronJob`, async () => {
      for (const { metadata, status } of await podsOf('often')) {
        if (status?.phase === 'Succeeded') uids.add(metadata?.uid ?? '');
      }
      return uids.size >= TURNS;
    });
    took(`CronJob, ${TURNS} times`);
  });

  it('is taken away, and nothing of it is left', async () => {
    startedAtMs = performance.now();
    const names = ['daemonset/each', 'statefulset/members', 'job/sums', 'job/tries', 'cronjob/often'];
    await cluster.kubectl('delete', ...names, '--cascade=foreground', '--timeout=10m');
    took('deleted in the foreground');
    expect(await cluster.untilAgreed()).toEqual([]);
    expect(await cluster.pods()).toEqual([]);
    const { versions, gone } = cluster.history.counts;
    await recordResult('cluster', 'A node of a cluster', {
      name: `A DaemonSet, a StatefulSet, Jobs and a CronJob, on ${cluster.nodes.length} nodes`,
      what: 'Brought up, updated and deleted on a real control plane; all on one machine. After each step API server, agents and runtimes agreed on every pod; the containers of a Job ran once, or twice where the first failed on purpose.',
      values: { ...seconds, 'versions of pods seen': versions, 'pods that went': gone, disagreements: 0 },
    });
  });
});

function ordinalOf({ metadata }: Pod): number {
  return Number(metadata?.name?.split('-').at(-1));
}

it.runIf('missing' in found)('has no control plane for stories', () => {
  console.warn(`stories on a real control plane are skipped: ${'missing' in found ? found.missing : ''}`);
});
