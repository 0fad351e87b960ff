import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
  type Ran,
} from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer, sendStatus } from '#support/fakes/fake-agent-server.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

const podloop = (...args: string[]): Promise<Ran> => lab.start(args).ended;

describe('podloop exec', () => {
  it.each([
    [['exec', 'web'], 'error: you must specify at least one command for the container'],
    [
      ['exec', 'web', 'ls'],
      'error: exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead',
    ],
    [['exec', '--', 'ls'], 'error: pod, type/name or --filename must be specified'],
    [
      ['exec', 'done', '--', 'ls'],
      'error: cannot exec into a container in a completed pod; current phase is Succeeded',
    ],
    [['exec', 'web', '--', 'ls'], 'Error from server (NotFound): container not found ("main")'],
  ])('refuses %j', async (args, words) => {
    agent.on(`GET ${PODS_PATH}/web`, () => aKubePod('web'));
    agent.on(`GET ${PODS_PATH}/done`, () => aKubePod('done', { status: { phase: 'Succeeded' } }));
    agent.on(`GET ${PODS_PATH}/web/exec`, (_, answer) =>
      sendStatus(answer, 404, 'NotFound', 'container not found ("main")'),
    );
    const { code, stderr } = await podloop(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });
});
