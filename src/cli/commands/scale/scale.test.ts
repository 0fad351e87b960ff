import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentCommandHarness, type Ran } from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

const SCALE = '/apis/apps/v1/namespaces/default/deployments/web/scale';
const podloop = (...args: string[]): Promise<Ran> => lab.start(['scale', ...args]).ended;
const aScale = (replicas: number) => ({ kind: 'Scale', metadata: { name: 'web' }, spec: { replicas } });
const sent = () => agent.requests.filter(({ method }) => method === 'PATCH');

describe('podloop scale', () => {
  it('sets the number of pods', async () => {
    agent.on(`GET ${SCALE}`, () => aScale(2));
    agent.on(`PATCH ${SCALE}`, () => aScale(3));
    expect(await podloop('deploy/web', '--replicas=3')).toEqual({
      ...{ code: 0, stdout: 'deployment.apps/web scaled\n', stderr: '' },
    });
    expect(sent().map(({ body }) => JSON.parse(body) as unknown)).toEqual([{ spec: { replicas: 3 } }]);
  });

  it('does not where there is another number than was expected', async () => {
    agent.on(`GET ${SCALE}`, () => aScale(1));
    expect(await podloop('deploy', 'web', '--replicas=3', '--current-replicas=2')).toMatchObject({
      ...{ code: 1, stderr: 'error: Expected replicas to be 2, was 1\n' },
    });
    expect(sent()).toEqual([]);
  });

  it.each([
    [['deploy/web'], 'The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0'],
    [['deployments', '--replicas=1'], 'name a workload, as in "podloop scale deploy/web --replicas=3"'],
    [
      ['ds/web', '--replicas=1'],
      'daemonsets have no number of replicas; Deployments, ReplicaSets and StatefulSets have',
    ],
  ])('refuses %j', async (args, words) => {
    expect(await podloop(...args)).toMatchObject({ code: 1, stderr: `error: ${words}\n` });
    expect(agent.requests).toEqual([]);
  });
});
