import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import {
  type ImageVerifierFlags,
  imageVerifierOptions,
  readImageVerifiers,
  toRuntimeFlags,
} from './image-verifier-flags.js';

function parse(...args: string[]): ImageVerifierFlags {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  for (const option of imageVerifierOptions('Images:')) command.addOption(option);
  return command.parse(args, { from: 'user' }).opts<ImageVerifierFlags>();
}

describe('the flags of image verifiers', () => {
  it('are what a runtime takes, and the same again for one that is started', () => {
    expect(readImageVerifiers(parse())).toBeUndefined();
    expect(toRuntimeFlags(parse())).toEqual([]);
    const all = ['--image-verifier-bin-dir', '/opt/v', '--max-image-verifiers', '3'];
    const flags = parse(...all, '--image-verifier-timeout', '1m30s');
    expect(readImageVerifiers(flags)).toEqual({ binDir: '/opt/v', maxVerifiers: 3, timeoutMs: 90_000 });
    expect(toRuntimeFlags(flags)).toEqual([...all, '--image-verifier-timeout', '1m30s']);
    expect(toRuntimeFlags(parse('--image-verifier-bin-dir', 'v'))).toEqual([
      ...['--image-verifier-bin-dir', `${process.cwd()}/v`],
    ]);
  });

  it.each([
    ['--max-image-verifiers', '0'],
    ['--max-image-verifiers', 'many'],
    ['--image-verifier-timeout', '0s'],
    ['--image-verifier-timeout', '10'],
  ])('refuse %s %s', (flag, value) => {
    expect(() => parse('--image-verifier-bin-dir', '/opt/v', flag, value)).toThrow(
      /argument '.*' is invalid/,
    );
  });

  it.each([
    ['--max-image-verifiers', '3'],
    ['--image-verifier-timeout', '3s'],
  ])('refuse %s alone', (flag, value) => {
    expect(() => readImageVerifiers(parse(flag, value))).toThrow(
      `${flag} has no effect without --image-verifier-bin-dir`,
    );
  });
});
