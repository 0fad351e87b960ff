import { describe, expect, it } from 'vitest';
import { type GivenAgentOptions } from '../../../node/options/resolve-agent-options.js';
import { resolveRunOptions } from './run-options.js';

const env = { HOME: '/home/me' };
const rootDirOf = async (given: GivenAgentOptions, uid = 0): Promise<string> =>
  (await resolveRunOptions({ podManifestPath: '/srv/jobs', ...given }, {}, env, uid)).rootDir;

describe('the root folder of an agent', () => {
  it.each<[string, GivenAgentOptions]>([
    ['a plain run', {}],
    ['a node of a cluster that stops its pods', { stopPods: true, kubeconfig: '/k', podManifestPath: '' }],
  ])('is the usual one for %s', async (_what, given) => {
    expect(await rootDirOf(given)).toBe('/var/lib/podloop');
    expect(await rootDirOf(given, 1000)).toBe('/home/me/.local/state/podloop');
  });

  it.each<[string, GivenAgentOptions]>([
    ['--exit-when-done', { exitWhenDone: true }],
    ['--stop-pods', { stopPods: true }],
    ['both', { exitWhenDone: true, stopPods: true }],
  ])('is one of its own below the usual one with %s, unless it is named', async (_what, given) => {
    expect(await rootDirOf(given)).toMatch(/^\/var\/lib\/podloop\/batches\/jobs-[0-9a-f]{8}$/);
    expect(await rootDirOf(given, 1000)).toMatch(
      /^\/home\/me\/\.local\/state\/podloop\/batches\/jobs-[0-9a-f]{8}$/,
    );
    expect(await rootDirOf({ ...given, rootDir: '/named' })).toBe('/named');
    expect(await rootDirOf({ ...given, podManifestPath: '/other/jobs' })).not.toBe(await rootDirOf(given));
  });

  it('has the logs of pods in it for who is not root', async () => {
    const { rootDir, podLogsDir } = await resolveRunOptions(
      { podManifestPath: '-', stopPods: true },
      {},
      env,
      1000,
    );
    expect(rootDir).toBe('/home/me/.local/state/podloop/batches/stdin');
    expect(podLogsDir).toBe(`${rootDir}/logs`);
  });
});
