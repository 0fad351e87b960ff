import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkEnv, findTool } from './find-tools.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-find-tools-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function envThat(script: string): Promise<string> {
  const path = join(folder, 'env');
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

describe('the check of env', () => {
  it('accepts that of this machine', async () => {
    await checkEnv(await findTool('env'));
  });

  it.each([
    ['of coreutils before 8.30', 'echo "env: invalid option -- S" >&2; exit 125', 'invalid option -- S'],
    ['of busybox', 'echo "env: unrecognized option: S" >&2; exit 1', 'unrecognized option: S'],
  ])('says of one %s that it does not know the option', async (_which, script, words) => {
    const error: unknown = await checkEnv(await envThat(script)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'PLATFORM_UNSUPPORTED' });
    expect((error as Error).message).toMatch(/does not know --split-string: env: /);
    expect((error as Error).message).toContain(words);
  });

  it.each([
    [
      'exits with something else',
      'echo "cannot load libc" >&2; exit 127',
      /exited with 127: cannot load libc$/,
    ],
    ['is ended by a signal', 'kill -s TERM $$', /was ended by SIGTERM$/],
  ])('says what happened when it %s', async (_what, script, message) => {
    await expect(checkEnv(await envThat(script))).rejects.toThrow(message);
  });

  it('says what happened when it cannot be started', async () => {
    await expect(checkEnv(join(folder, 'missing'))).rejects.toThrow(/missing ENOENT$/);
    const path = join(folder, 'env');
    await writeFile(path, '');
    await expect(checkEnv(path)).rejects.toThrow(/EACCES$/);
  });

  it('ends one that does not end by itself, and says so', async () => {
    const env = await envThat('trap "" TERM; exec sleep 600');
    await expect(checkEnv(env, 200)).rejects.toThrow(/env did not end within 200 ms$/);
  });
});
