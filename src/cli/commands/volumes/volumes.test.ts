import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentCommandHarness } from '#support/harness/agent-command-harness.js';

let lab: AgentCommandHarness;
beforeEach(async () => void (lab = await AgentCommandHarness.open()));
afterEach(() => lab[Symbol.asyncDispose]());

const volume = (namespace: string, name: string, more: object = {}) => ({
  ...{ metadata: { namespace, name, creationTimestamp: '2020-01-01T10:00:00Z' } },
  ...{ spec: { request: '1Gi' }, status: { bytes: 2048, usedBy: ['web-vm'], isEnforced: true }, ...more },
});

describe('podloop volumes', () => {
  it.each([
    [['volumes'], 'data', 'logs'],
    [['volumes', 'ls', '-A'], 'logs', undefined],
  ])('%j shows what is on the disk, what was asked for, and who has it', async (args, name, other) => {
    lab.agent.on('GET /volumes', () => ({
      kind: 'VolumeList',
      items: [volume('default', 'data'), volume('web', 'logs', { spec: {}, status: {} })],
    }));
    const { code, stdout } = await lab.start(args).ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/NAME +SIZE +REQUEST +ENFORCED +USED BY +AGE/);
    expect(stdout).toContain(name);
    expect(stdout).toMatch(/data +2KiB +1Gi +yes +web-vm +/);
    if (other !== undefined) expect(stdout).not.toContain(other);
    else expect(stdout).toMatch(/web +logs +<unknown> +<none> +<none> +<none> /);
  });

  it('says once why sizes are not enforced', async () => {
    const status = { isEnforced: false, whyNotEnforced: 'setquota is missing' };
    lab.agent.on('GET /volumes', () => ({
      kind: 'VolumeList',
      items: [volume('default', 'a', { status }), volume('default', 'b', { status })],
    }));
    const { stdout, stderr } = await lab.start(['volumes']).ended;
    expect(stdout).toMatch(/a +<unknown> +1Gi +no +<none> /);
    expect(stderr).toBe('Note: a size is not enforced: setquota is missing\n');
  });

  it('rm removes the volumes that are named, and says why one stays', async () => {
    lab.agent.on('DELETE /volumes/default/data', () => ({ kind: 'Status', status: 'Success' }));
    const { code, stdout, stderr } = await lab.start(['volumes', 'rm', 'nope', 'data']).ended;
    expect([code, stdout]).toEqual([1, 'volume "data" removed\n']);
    expect(stderr).toContain('not found');
  });

  it.each([
    [['volumes', 'rm'], 'name the claims'],
    [['volumes', 'prune'], 'there is ls and rm, and no prune'],
    [['volumes', 'ls', 'data'], 'ls takes no names'],
  ])('%j is refused', async (args, words) => {
    const { code, stderr } = await lab.start(args).ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining(words)]);
  });
});
