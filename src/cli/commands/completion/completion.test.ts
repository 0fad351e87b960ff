import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
  type Ran,
} from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { RESOURCE_TYPES } from '../../shared/api/resource-type.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

const podloop = (...args: string[]): Promise<Ran> => lab.start(args).ended;

describe('completion', () => {
  const complete = async (...words: string[]): Promise<string[]> =>
    (await podloop('__complete', ...words)).stdout.trimEnd().split('\n');

  it('knows commands, flags and kinds', async () => {
    expect(await complete('des')).toEqual(['describe', ':']);
    expect(await complete('get', '--show')).toEqual(['--show-labels', '--show-kind', ':']);
    expect(await complete('get', '')).toEqual([...RESOURCE_TYPES.map(({ plural }) => plural), ':']);
    expect(await complete('get', 'pods', '-o', 'j')).toEqual([
      'json',
      'jsonpath=',
      'jsonpath-file=',
      ':nospace',
    ]);
  });

  it('knows the names that the agent knows', async () => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList(aKubePod('web'), aKubePod('db')));
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
    expect(await complete('get', 'pods', 'w')).toEqual(['web', ':']);
    expect(await complete('describe', 'pod/d')).toEqual(['pod/db', ':']);
    expect(await complete('logs', '')).toEqual(['web', 'db', ':']);
    expect(await complete('exec', '-it', 'web', '-c', '')).toEqual(['main', ':']);
    expect(await complete('cp', 'd')).toEqual(['db:', ':nospace']);
  });

  it('offers nothing when there is no agent, and files where they are meant', async () => {
    const env = { PODLOOP_SOCKET: '/nope' };
    const { stdout } = await lab.start(['__complete', 'logs', ''], { env }).ended;
    expect(stdout).toBe(':\n');
    expect(await complete('apply', '-f', '')).toEqual([':files']);
  });
});
