import { describe, expect, it } from 'vitest';
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

  it('are in no outcome of a probe', async () => {
    const outcome = { result: 'failure', isDecisive: true, message: 'body: swordfish' } as const;
    const run = hideInProbes(async () => outcome, hider);
    expect(await run({} as never, new AbortController().signal)).toEqual({
      ...outcome,
      message: 'body: ***',
    });
  });
});
