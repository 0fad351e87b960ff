import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentCommandHarness } from '#support/harness/agent-command-harness.js';
import { packageVersion } from '#base/package-version.js';

let lab: AgentCommandHarness;
beforeEach(async () => (lab = await AgentCommandHarness.open()));
afterEach(() => lab[Symbol.asyncDispose]());

const CLIENT = `v${packageVersion()}`;

describe('podloop version', () => {
  it('shows those of the program and of the agent', async () => {
    lab.agent.on('GET /version', () => ({ gitVersion: 'podloop v9.8.7' }));
    expect(await lab.start(['version']).ended).toEqual({
      code: 0,
      stdout: `Client Version: ${CLIENT}\nNode.js Version: ${process.version}\nServer Version: v9.8.7\n`,
      stderr: '',
    });
  });

  it.each(['json', 'yaml'])('is read by a program as %s', async (format) => {
    lab.agent.on('GET /version', () => ({ gitVersion: 'podloop v9.8.7' }));
    const { stdout } = await lab.start(['version', '-o', format]).ended;
    if (format === 'json')
      expect(JSON.parse(stdout)).toMatchObject({
        clientVersion: { gitVersion: CLIENT, nodeVersion: process.version },
        serverVersion: { gitVersion: 'v9.8.7' },
      });
    else expect(stdout).toContain('serverVersion:\n  gitVersion: v9.8.7');
  });

  it('is no failure without an agent, and asks none with --client', async () => {
    const env = { PODLOOP_SOCKET: '/nowhere/podloop.sock' };
    const { code, stdout, stderr } = await lab.start(['version'], { env }).ended;
    expect([code, stderr]).toEqual([0, 'No agent answers at /nowhere/podloop.sock\n']);
    expect(stdout).toContain(`Client Version: ${CLIENT}\n`);
    expect(await lab.start(['version', '--client'], { env }).ended).toMatchObject({ code: 0, stderr: '' });
    expect(lab.agent.requests).toEqual([]);
  });

  it('refuses another format', async () => {
    expect(await lab.start(['version', '-o', 'wide']).ended).toMatchObject({
      code: 1,
      stderr: `error: --output must be 'yaml' or 'json', not "wide"\n`,
    });
  });
});
