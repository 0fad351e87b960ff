import { describe, expect, it } from 'vitest';
import { cri, type CriClient } from '../../../watch/cri/index.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { findRuntimeDifferences, logRuntimeDifferences } from './log-runtime-differences.js';

const TOLD = {
  ...{ version: '1.0.0', pid: 4_711 },
  startedWith: { isolation: 'auto', network: 'host', imageDirs: ['/a', '/b'], imageVerifierDirs: [] },
};
const FLAGS = ['--isolation', 'auto', '--network', 'host', '--image-dir', '/a', '--image-dir', '/b'];

/** The warnings that an answer to Status leads to. */
async function tell(status: () => Promise<Partial<cri.StatusResponse>>): Promise<unknown[]> {
  const warnings: unknown[] = [];
  const logger: Logger = { ...SILENT_LOGGER, warn: (...words) => warnings.push(words) };
  const client: Pick<CriClient, 'status'> = {
    status: async () => cri.StatusResponse.fromPartial(await status()),
  };
  const { signal } = new AbortController();
  await logRuntimeDifferences({ client, flags: ['--network', 'none'], version: '1.1.0', logger, signal });
  return warnings;
}

describe('an embedded runtime that is found', () => {
  it('is warned of where it is not as it would be started, with how to end it', async () => {
    expect(await tell(async () => ({ info: { config: JSON.stringify(TOLD) } }))).toEqual([
      [
        'Embedded runtime keeps the options that it was started with',
        {
          differs: 'podloop is 1.0.0, not 1.1.0; --network is host, not none; --image-dir is /a /b, not none',
          toChange: 'kill 4711: another one is started at once, and pods go on',
        },
      ],
    ]);
  });

  it.each([
    ['that fails', () => Promise.reject(new Error('no'))],
    ['without details', async () => ({})],
    ['that is not JSON', async () => ({ info: { config: '{' } })],
    ['of another kind', async () => ({ info: { config: '[]' } })],
    ['of an older version', async () => ({ info: { config: '{"version":"0.9.0","isolation":"none"}' } })],
  ])('is passed over after an answer %s', async (_which, status) => {
    expect(await tell(status)).toEqual([]);
  });

  it.each([
    [FLAGS, '1.0.0', []],
    [FLAGS, 'unknown', []],
    [FLAGS, '2.0.0', ['podloop is 1.0.0, not 2.0.0']],
    [FLAGS.slice(2), '1.0.0', []],
    [FLAGS.slice(0, -2), '1.0.0', ['--image-dir is /a /b, not /a']],
    [['--isolation', 'none', ...FLAGS.slice(2)], '1.0.0', ['--isolation is auto, not none']],
    [['--network', 'none', ...FLAGS.slice(4)], '1.0.0', ['--network is host, not none']],
  ])('with %j of %s differs in %j', (flags, version, differences) => {
    expect(findRuntimeDifferences({ flags, version }, TOLD)).toEqual(differences);
  });
});
