import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aKubeList, AgentCommandHarness, PODS_PATH } from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

describe('an agent that is not there', () => {
  it('is told of with its socket, and what to do', async () => {
    const env = { PODLOOP_SOCKET: '/nowhere/podloop.sock' };
    const { code, stderr } = await lab.start(['get', 'pods'], { env }).ended;
    expect(code).toBe(1);
    expect(stderr).toBe(
      'error: cannot reach the agent at /nowhere/podloop.sock: is "podloop run" running? Name its socket with --socket or PODLOOP_SOCKET\n',
    );
  });

  it('is looked for at the socket of the flag first', async () => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    const env = { PODLOOP_SOCKET: '/nowhere/podloop.sock' };
    const socket = `unix://${agent.socketPath}`;
    const { code } = await lab.start(['get', 'pods', '--socket', socket], { env }).ended;
    expect(code).toBe(0);
  });
});
