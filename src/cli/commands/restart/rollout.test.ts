import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
  type Ran,
} from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { describeRollout } from './rollout.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

const APPS = '/apis/apps/v1/namespaces/default';
const podloop = (...args: string[]): Promise<Ran> => lab.start(args).ended;
const changes = (): string[] =>
  agent.requests.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);
const aDeployment = (status: object, replicas = 2) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', uid: 'u' } },
  ...{ spec: { replicas }, status },
});

describe('podloop rollout restart', () => {
  it.each([
    [['pod/web'], ['web']],
    [['pod', 'web', '--no-wait'], ['web']],
    [['pods', '-l', 'app=web'], ['web']],
  ])('restarts the pods of %j', async (args, names) => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aKubePod('web')));
    agent.on(`POST ${PODS_PATH}/web/restart`, () => ({ kind: 'Pod', ...aKubePod('web') }));
    const { code, stderr } = await podloop('rollout', 'restart', ...args, '--no-wait');
    expect([code, stderr]).toEqual([0, '']);
    expect(changes()).toEqual(names.map((name) => `POST ${PODS_PATH}/${name}/restart`));
  });

  it('has a workload replace its pods by a patch of its template', async () => {
    agent.on(`PATCH ${APPS}/deployments/web`, () => aDeployment({}));
    agent.on(`PATCH ${APPS}/daemonsets/logs`, () => aDeployment({}));
    const { code, stdout } = await podloop('rollout', 'restart', 'deploy/web', 'ds/logs');
    expect([code, stdout]).toEqual([0, 'deployment.apps/web restarted\ndaemonset.apps/logs restarted\n']);
    expect(JSON.parse(agent.requests[0]!.body)).toMatchObject({
      spec: {
        template: {
          metadata: {
            annotations: {
              'kubectl.kubernetes.io/restartedAt': expect.stringMatching(/^\d{4}-.*:\d\dZ$/) as string,
            },
          },
        },
      },
    });
  });
});

describe('podloop rollout status', () => {
  it('says in the words of others that there is no such workload', async () => {
    agent.on(`GET ${APPS}/deployments`, () => aKubeList());
    const { code, stderr } = await podloop('rollout', 'status', 'deploy/nope');
    expect([code, stderr]).toEqual([1, 'Error from server (NotFound): deployments.apps "nope" not found\n']);
  });

  it('follows a workload to its end', async () => {
    const counts = { replicas: 3, updatedReplicas: 2, availableReplicas: 2 };
    const looks = [{ ...counts, updatedReplicas: 1 }, counts, { ...counts, replicas: 2 }];
    agent.on(`GET ${APPS}/deployments`, () => aKubeList(aDeployment(looks.shift() ?? {})));
    const clock = new FakeClock();
    const running = lab.start(['rollout', 'status', 'deploy/web'], { more: { clock } });
    await running.sees('1 out of 2');
    await clock.advance(500);
    await running.sees('1 old replicas');
    await clock.advance(500);
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'Waiting for deployment "web" rollout to finish: 1 out of 2 new replicas have been updated...',
      'Waiting for deployment "web" rollout to finish: 1 old replicas are pending termination...',
      ...['deployment "web" successfully rolled out', ''],
    ]);
  });

  it.each([
    [{ kind: 'DaemonSet', status: { desiredNumberScheduled: 1 } }, /0 out of 1 new replicas/],
    [
      { kind: 'StatefulSet', status: { replicas: 1, updatedReplicas: 1 } },
      /0 of 1 updated replicas are available/,
    ],
    [{ kind: 'StatefulSet', spec: { updateStrategy: { type: 'OnDelete' } } }, undefined],
    [{ kind: 'Deployment', spec: { replicas: 0 } }, undefined],
  ])('says what is left to be done: %j', (workload, words) => {
    const said = describeRollout(workload, 'x');
    if (words === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(words);
  });
});

it.each([
  [
    ['status', 'pod/web'],
    'a pod has no rollout status; to wait for it: podloop wait pod/web --for=condition=Ready',
  ],
  [
    ['undo', 'deploy/web'],
    'there is no "rollout undo"; no versions are stored; put the earlier manifest back',
  ],
  [['roll', 'pod/web'], 'there is no "rollout roll"; there are restart and status'],
  [['restart', 'job/web'], 'jobs are not rolled out; Deployments, StatefulSets, DaemonSets and pods are'],
  [['restart'], 'name a workload or a pod, as in "podloop rollout restart deploy/web"'],
])('podloop rollout refuses %j', async (args, words) => {
  expect(await podloop('rollout', ...args)).toMatchObject({ code: 1, stderr: `error: ${words}\n` });
  expect(changes()).toEqual([]);
});
