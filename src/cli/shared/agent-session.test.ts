import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aKubeList, AgentCommandHarness, PODS_PATH } from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { withRunning } from './agent-session.js';
import { AgentAbsent } from './api/agent-client.js';

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

  it('is told of with those that do run, where nobody has named one', () => {
    const absent = new AgentAbsent('/nowhere/podloop.sock');
    const listening = new Set(['/run/dbus/system_bus_socket', '/b/podloop.sock', '/a/podloop.sock']);
    expect(withRunning(absent, listening).lines).toEqual([
      ...absent.lines,
      'Agents that run here, as "podloop ps" lists them:',
      ...['  export PODLOOP_SOCKET=/a/podloop.sock', '  export PODLOOP_SOCKET=/b/podloop.sock'],
    ]);
    expect(withRunning(absent, [])).toBe(absent);
  });

  it('is looked for at the socket of the flag first', async () => {
    agent.on(`GET ${PODS_PATH}`, () => aKubeList());
    const env = { PODLOOP_SOCKET: '/nowhere/podloop.sock' };
    const socket = `unix://${agent.socketPath}`;
    const { code } = await lab.start(['get', 'pods', '--socket', socket], { env }).ended;
    expect(code).toBe(0);
  });

  it('is the one in the root folder of the flag, and no other, whatever the environment says', async () => {
    const env = { PODLOOP_SOCKET: agent.socketPath };
    for (const command of ['events', 'incidents']) {
      await lab.start([command, '--root-dir', '/nowhere'], { env }).ended;
      expect(agent.requests, command).toEqual([]);
    }
    const { code, stderr } = await lab.start(['events', '--root-dir', '/nowhere'], { env }).ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('/nowhere/podloop.sock')]);
  });
});
