import { resolve } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addAgentFlags, type AgentFlagChoices, readAgentFlags } from './agent-flags.js';

/** The description of a flag. */
function describeFlag(flag: string, choices?: AgentFlagChoices): string {
  const command = new Command('run');
  addAgentFlags(command, choices);
  return command.options.find(({ long }) => long === flag)?.description ?? 'there is no such flag';
}

describe('the help of a flag', () => {
  it.each([
    ['--port', /, 0 for none \(default: 0; in a cluster 10250\)$/],
    ['--anonymous-auth', / \(default: true; in a cluster false\)$/],
    ['--authorization-mode', / \(default: AlwaysAllow; in a cluster Webhook\)$/],
    ['--max-pods', / \(default: 110\)$/],
    ['--sync-frequency', / \(default: 1m0s\)$/],
    ['--container-log-max-size', / \(default: 10Mi\)$/],
    ['--address', / \(default: 127\.0\.0\.1; in a cluster 0\.0\.0\.0 for --port\)$/],
  ])('of %s shows its default, in a cluster too', (flag, words) => {
    expect(describeFlag(flag)).toMatch(words);
  });

  it('shows the defaults of this machine and user', () => {
    const machine = { rootDir: '/home/ann/.local/state/podloop' };
    expect(describeFlag('--root-dir', { machine })).toContain('(default: /home/ann/.local/state/podloop)');
    expect(describeFlag('--root-dir')).toContain('(default: /var/lib/podloop)');
    expect(describeFlag('--pod-logs-dir', { machine })).toContain('(default: /var/log/pods)');
  });

  it('covers only the flags that were requested', () => {
    expect(describeFlag('--port', { only: ['forbid'] })).toBe('there is no such flag');
  });
});

describe('amounts', () => {
  const read = (...words: string[]): unknown => {
    const command = new Command('run').exitOverride().configureOutput({ writeErr: () => undefined });
    addAgentFlags(command);
    command.parse(words, { from: 'user' });
    return readAgentFlags(command.opts());
  };

  it('are separated by commas or given one by one, and the last of a name counts', () => {
    expect(read('--system-reserved', 'cpu=200m, memory=500Mi')).toEqual({
      systemReserved: { cpu: '200m', memory: '500Mi' },
    });
    expect(read('--kube-reserved=cpu=1', '--kube-reserved=pid=100', '--kube-reserved=cpu=2')).toEqual({
      kubeReserved: { cpu: '2', pid: '100' },
    });
  });

  it.each(['cpu', 'cpu=', '=1', 'cpu=1,,memory=1Gi', ''])('are refused with what is right: %j', (text) => {
    expect(() => read('--system-reserved', text)).toThrow('use amounts such as cpu=200m,memory=500Mi');
  });
});

it('takes paths from the working directory', () => {
  const command = new Command('run');
  addAgentFlags(command);
  command.parse(['--root-dir', 'state', '--pod-logs-dir=/var/../logs'], { from: 'user' });
  expect(readAgentFlags(command.opts())).toMatchObject({ rootDir: resolve('state'), podLogsDir: '/logs' });
});
