import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
  type Ran,
} from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

const APPS = '/apis/apps/v1/namespaces/default';
const podloop = (...args: string[]): Promise<Ran> => lab.start(args).ended;
const ownedBy = (uid: string, name: string) => {
  const ownerReferences = [{ kind: 'ReplicaSet', uid }];
  return aKubePod(name, { metadata: { name, namespace: 'default', uid: `uid-${name}`, ownerReferences } });
};

describe('the pods of a workload', () => {
  beforeEach(() => {
    agent.on(`GET ${APPS}/deployments/web`, () => ({
      kind: 'Deployment',
      metadata: { name: 'web', uid: 'd' },
    }));
    const sets = [
      { metadata: { uid: 'r1', ownerReferences: [{ uid: 'd' }] } },
      { metadata: { uid: 'r2', ownerReferences: [{ uid: 'other' }] } },
    ];
    agent.on(`GET ${APPS}/replicasets`, () => ({ kind: 'ReplicaSetList', items: sets }));
    const ended = { ...ownedBy('r1', 'web-0'), status: { phase: 'Failed' } };
    const pods = [ended, ownedBy('r2', 'other'), ownedBy('r1', 'web-1'), ownedBy('r1', 'web-2')];
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(...pods));
    for (const name of ['web-0', 'web-1', 'web-2'])
      agent.on(`GET ${PODS_PATH}/${name}/log`, (_, answer) => void answer.end(`of ${name}\n`));
  });

  it('are followed to the one that runs first', async () => {
    expect(await podloop('logs', 'deploy/web')).toEqual({
      ...{ code: 0, stdout: 'of web-1\n', stderr: 'Found 3 pods, using pod/web-1\n' },
    });
  });

  it('are all meant where that is asked for', async () => {
    const { stdout } = await podloop('logs', 'deployment/web', '--all-pods');
    expect(stdout.split('\n').sort()).toEqual([
      ...['', '[pod/web-0/main] of web-0', '[pod/web-1/main] of web-1', '[pod/web-2/main] of web-2'],
    ]);
  });

  it.each([
    [
      ['logs', 'cronjob/tick'],
      'a CronJob has Jobs and no pods; name one of them, as "podloop get jobs" lists them: job/NAME',
    ],
    [['logs', 'cm/conf'], 'cm/conf has no pods; name a pod, or a workload such as deploy/web'],
    [['exec', 'rs/none', '--', 'ls'], 'replicasets "none" has no pods at this moment'],
    [
      ['restart', 'deploy/web'],
      'deploy/web is no pod; only pods can restart; for its pods: podloop rollout restart deploy/web',
    ],
    [
      ['stop', 'deploy/web'],
      'deploy/web is no pod; only pods can stop; to have no pods of it: podloop scale deploy/web --replicas=0',
    ],
  ])('are not those of %j', async (args, words) => {
    agent.on(`GET ${APPS}/replicasets/none`, () => ({
      kind: 'ReplicaSet',
      metadata: { name: 'none', uid: 'n' },
    }));
    expect(await podloop(...args)).toMatchObject({ code: 1, stderr: `error: ${words}\n` });
  });
});
