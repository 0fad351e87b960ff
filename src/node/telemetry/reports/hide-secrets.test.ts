import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { GrpcStatusError } from '../../../watch/cri/index.js';
import { type ProbeRun } from '../../probes/probe-worker.js';
import { describeRuntimeError } from '../../../watch/observed/describe-runtime-error.js';
import { PodloopError } from '#base/errors/errors.js';
import { hideInCommands, hideInProbes } from './hide-secrets.js';

const hider = {
  hide: (text: string, namespace: string | undefined) =>
    namespace === 'shop' ? text.replaceAll('swordfish', '***') : text,
};
const podIn = (namespace: string) => ({ uid: 'u1', namespace, name: 'web' });
const OPTIONS = { pod: podIn('shop') };

describe('values of Secrets', () => {
  it('are in no output of a command', async () => {
    const said = { exitCode: 1, stdout: Buffer.from('it is swordfish'), stderr: Buffer.from('no') };
    const commands = hideInCommands({ execSync: async () => said }, hider);
    const call = ['id', ['sh'], 1, OPTIONS] as const;
    const { exitCode, stdout, stderr } = await commands.execSync(...call);
    expect([exitCode, String(stdout), stderr]).toEqual([1, 'it is ***', said.stderr]);
  });

  it('are left alone in what pods of another namespace say, who would find out by them what they are', async () => {
    const said = { exitCode: 1, stdout: Buffer.from('swordfish?'), stderr: Buffer.alloc(0) };
    const commands = hideInCommands({ execSync: async () => said }, hider);
    const { stdout } = await commands.execSync('id', ['sh'], 1, { pod: podIn('guesser') });
    expect(String(stdout)).toBe('swordfish?');
    const outcome = { result: 'failure', isDecisive: true, message: 'swordfish?' } as const;
    const run = hideInProbes(async () => outcome, hider);
    expect(await run({ pod: podIn('guesser') } as ProbeRun, new AbortController().signal)).toBe(outcome);
  });

  it('are in no beginning of what a command has printed at length, which alone is looked at', async () => {
    const texts: string[] = [];
    const stdout = Buffer.from('x' + 'ä'.repeat(8 << 20));
    const commands = hideInCommands(
      { execSync: async () => ({ exitCode: 1, stdout, stderr: Buffer.alloc(0) }) },
      { hide: (text) => (texts.push(text), text) },
    );
    const shown = await commands.execSync('id', ['sh'], 1, OPTIONS);
    expect(texts).toEqual(['x' + 'ä'.repeat(5_119), '']);
    expect(shown.stdout).toHaveLength(10_239);
  });

  it('are in no error of a runtime that could not run it', async () => {
    const said = new GrpcStatusError(13, 'cannot run [echo swordfish]');
    const failure = new PodloopError('CRI_INTERNAL', `exec_sync: ${said.message}`, { cause: said });
    const commands = hideInCommands({ execSync: () => Promise.reject(failure) }, hider);
    const error: unknown = await commands
      .execSync('id', ['sh'], 1, OPTIONS)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'CRI_INTERNAL' });
    expect(describeRuntimeError(error)).toBe('cannot run [echo ***]');
    expect(inspect(error, { depth: 9 })).not.toContain('swordfish');
  });

  it('are in no outcome of a probe', async () => {
    const outcome = { result: 'failure', isDecisive: true, message: 'body: swordfish' } as const;
    const run = hideInProbes(async () => outcome, hider);
    expect(await run({ pod: podIn('shop') } as ProbeRun, new AbortController().signal)).toEqual({
      ...outcome,
      message: 'body: ***',
    });
  });
});
