import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { GrpcStatusError } from '../cri/index.js';
import { describeRuntimeError } from '../runtime/describe-runtime-error.js';
import { PodloopError } from '../util/errors.js';
import { hideInCommands, hideInProbes } from './hide-secrets.js';

const hider = { hide: (text: string) => text.replaceAll('swordfish', '***') };

describe('values of Secrets', () => {
  it('are in no output of a command', async () => {
    const said = { exitCode: 1, stdout: Buffer.from('it is swordfish'), stderr: Buffer.from('no') };
    const commands = hideInCommands({ execSync: async () => said }, hider);
    const call = ['id', ['sh'], 1, { pod: {} as never }] as const;
    const { exitCode, stdout, stderr } = await commands.execSync(...call);
    expect([exitCode, String(stdout), stderr]).toEqual([1, 'it is ***', said.stderr]);
  });

  it('are in no beginning of what a command has printed at length, which alone is looked at', async () => {
    const texts: string[] = [];
    const stdout = Buffer.from('x' + 'ä'.repeat(8 << 20));
    const commands = hideInCommands(
      { execSync: async () => ({ exitCode: 1, stdout, stderr: Buffer.alloc(0) }) },
      { hide: (text) => (texts.push(text), text) },
    );
    const shown = await commands.execSync('id', ['sh'], 1, { pod: {} as never });
    expect(texts).toEqual(['x' + 'ä'.repeat(5_119), '']);
    expect(shown.stdout).toHaveLength(10_239);
  });

  it('are in no error of a runtime that could not run it', async () => {
    const said = new GrpcStatusError(13, 'cannot run [echo swordfish]');
    const failure = new PodloopError('CRI_INTERNAL', `exec_sync: ${said.message}`, { cause: said });
    const commands = hideInCommands({ execSync: () => Promise.reject(failure) }, hider);
    const error: unknown = await commands
      .execSync('id', ['sh'], 1, { pod: {} as never })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'CRI_INTERNAL' });
    expect(describeRuntimeError(error)).toBe('cannot run [echo ***]');
    expect(inspect(error, { depth: 9 })).not.toContain('swordfish');
  });

  it('are in no outcome of a probe', async () => {
    const outcome = { result: 'failure', isDecisive: true, message: 'body: swordfish' } as const;
    const run = hideInProbes(async () => outcome, hider);
    expect(await run({} as never, new AbortController().signal)).toEqual({
      ...outcome,
      message: 'body: ***',
    });
  });
});
