import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseAgentPlace, howToEnd } from './agent-places.js';

let home: string;
beforeEach(async () => void (home = await realpath(await mkdtemp(join(tmpdir(), 'podloop-places-')))));
afterEach(async () => rm(home, { recursive: true }));

const usual = (): string => join(home, '.local/state/podloop');
const choose = async (folder: string): Promise<string> =>
  (await chooseAgentPlace(join(home, folder), { HOME: home }, 1000)).rootDir;
/** What an agent with these manifests has left in the default root folder. */
async function leave(folder: string): Promise<void> {
  await mkdir(usual(), { recursive: true });
  const sources = [{ kind: 'file', place: join(home, folder), realPath: join(home, folder) }];
  await writeFile(join(usual(), 'manifest-sources.json'), JSON.stringify({ version: 1, sources }));
}

describe('the root folder of an agent in the background', () => {
  it('is the default one on a machine without agents', async () => {
    expect(await choose('web')).toBe(usual());
  });

  it('is the default one for the manifests that it has, and another one for others', async () => {
    await leave('web');
    expect(await choose('web')).toBe(usual());
    expect(await choose('web/../web/')).toBe(usual());
    const other = await choose('db');
    expect(other).toMatch(/\/podloop\/batches\/db-[0-9a-f]{8}$/);
    expect(await choose('db')).toBe(other);
    expect(await choose('jobs')).not.toBe(other);
  });

  it('stays the same for a folder that has one of its own already', async () => {
    await leave('web');
    const own = await choose('db');
    await mkdir(own, { recursive: true });
    await rm(join(usual(), 'manifest-sources.json'));
    expect(await choose('db')).toBe(own);
  });

  it('has the logs of pods below it for a user other than root', async () => {
    const { rootDir, podLogsDir } = await chooseAgentPlace(join(home, 'web'), { HOME: home }, 1000);
    expect(podLogsDir).toBe(join(rootDir, 'logs'));
    expect((await chooseAgentPlace(join(home, 'web'), {}, 0)).podLogsDir).toBeUndefined();
  });
});

describe('the command that ends an agent', () => {
  it.each([
    ['./pods', {}, 'podloop down ./pods'],
    ['my pods', { rootDir: '/r' }, "podloop down 'my pods' --root-dir /r"],
    ['/a', { runtimeEndpoint: 'embedded' }, 'podloop down /a --runtime-endpoint embedded'],
  ])('of %s with %j', (folder, flags, words) => {
    expect(howToEnd(folder, flags)).toBe(words);
  });
});
