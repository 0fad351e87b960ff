import { chown, symlink } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aKubeList, AgentCommandHarness, PODS_PATH } from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';
import { SystemClock } from '#base/time/clock.js';
import { withRunning } from './agent-session.js';
import { findAgents, isTrustedSocket } from './agents/find-agents.js';
import { AgentAbsent } from './api/agent-client.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

describe('an agent that is not there', () => {
  it('is an error that names its socket, and what to do', async () => {
    const env = { PODLOOP_SOCKET: '/nowhere/podloop.sock' };
    const { code, stderr } = await lab.start(['get', 'pods'], { env }).ended;
    expect(code).toBe(1);
    expect(stderr).toBe(
      'error: cannot reach the agent at /nowhere/podloop.sock: is "podloop run" running? Name its socket with --socket or PODLOOP_SOCKET\n',
    );
  });

  it('lists the agents that run where nobody has named one, as a shell takes their sockets', () => {
    const absent = new AgentAbsent('/nowhere/podloop.sock');
    const agents = [{ socket: '/b/$(cmd)/podloop.sock' }, { socket: '/a/podloop.sock' }];
    expect(withRunning(absent, agents).lines).toEqual([
      ...absent.lines,
      'Agents that run here; "podloop ps" says more about them:',
      ...['  export PODLOOP_SOCKET=/a/podloop.sock', "  export PODLOOP_SOCKET='/b/$(cmd)/podloop.sock'"],
    ]);
    expect(withRunning(absent, [])).toBe(absent);
  });

  it.runIf(process.getuid?.() === 0)(
    'lists no agent at a socket of another user, and none behind a link',
    async () => {
      agent.on('GET /agent', () => ({ kind: 'Agent', pid: 1, socket: agent.socketPath, startedAt: '' }));
      agent.on('GET /api/v1/pods', () => aKubeList());
      const link = `${agent.socketPath}.link`;
      await symlink(agent.socketPath, link);
      expect([agent.socketPath, link].map(isTrustedSocket)).toEqual([true, false]);
      const { signal } = new AbortController();
      const host = { env: { PODLOOP_SOCKET: agent.socketPath }, clock: new SystemClock() };
      const find = async () =>
        (
          await findAgents(host, signal, {
            mayAsk: (path) => path === agent.socketPath && isTrustedSocket(path),
          })
        ).agents;
      expect(await find()).toMatchObject([{ socket: agent.socketPath }]);
      await chown(agent.socketPath, 65_534, 65_534);
      expect(await find()).toEqual([]);
    },
  );

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
