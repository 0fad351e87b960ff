import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { NetworkTools } from './network-tools.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-network-tools-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** The tools, with a program `ip` that fails with these words whenever it is asked for one link. */
async function toolsWhoseIpSays(stderr: string): Promise<NetworkTools> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'ip'), `#!/bin/sh\ncase "$*" in *dev*) echo '${stderr}' >&2; exit 1;; esac\n`);
  await chmod(join(bin, 'ip'), 0o755);
  const path = [bin, process.env['PATH']].join(delimiter);
  const tools = await NetworkTools.find({ clock: new SystemClock(), path });
  if (typeof tools === 'string') throw new Error(tools);
  return tools;
}

// Only root is let near the networks of a machine at all.
describe.runIf(process.geteuid?.() === 0)('the link of a host that `ip` finds no more', () => {
  it.each([
    ['that never was', 'Device "podloop0a590000" does not exist.'],
    ['to be deleted that never was', 'Cannot find device "podloop0a590000"'],
    [
      'that went while it was looked at',
      'RTNETLINK answers: No such device\nCannot send link get request: No such device',
    ],
  ])('is none, %s', async (_which, stderr) => {
    const tools = await toolsWhoseIpSays(stderr);
    expect(await tools.findLink('podloop0a590000')).toBeUndefined();
    await tools.deleteLink('podloop0a590000');
  });

  it('is not taken for none when it could not be looked at', async () => {
    const tools = await toolsWhoseIpSays('RTNETLINK answers: Operation not permitted');
    await expect(tools.findLink('podloop0a590000')).rejects.toThrow(/Operation not permitted/);
    await expect(tools.deleteLink('podloop0a590000')).rejects.toThrow(/Operation not permitted/);
  });
});
