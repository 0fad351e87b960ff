import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type * as Maker from '../api/tls/make-certificate.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type GivenAgentOptions, resolveAgentOptions } from './resolve-agent-options.js';
import { TlsFiles } from '../api/agent/tls-files.js';

const MAKER = '../api/tls/make-certificate.js';
const DAY_MS = 86_400_000;
const loads = vi.fn();
let folder: string;
let clock: FakeClock;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-renewal-'));
  clock = new FakeClock();
  vi.resetModules();
  vi.doMock(MAKER, async (original) => {
    loads();
    return original();
  });
});
afterEach(async () => {
  vi.doUnmock(MAKER);
  loads.mockReset();
  await rm(folder, { recursive: true });
});

async function writePair(name: string): Promise<void> {
  const { makeCertificate } = await vi.importActual<typeof Maker>(MAKER);
  const [validFrom, validTo] = [new Date(clock.now() - DAY_MS), new Date(clock.now() + 365 * DAY_MS)];
  const made = { commonName: 'node-1', hosts: ['node-1'], purpose: 'server', validFrom, validTo } as const;
  const { cert, key } = await makeCertificate(made);
  await writeFile(join(folder, name), cert + key);
}

async function open(given: GivenAgentOptions = {}): Promise<TlsFiles> {
  const options = resolveAgentOptions(given);
  return TlsFiles.open({ options, hosts: () => ['node-1'], folder, clock, logger: new LogRecorder() });
}

it('does not delay the start, and loads nothing after it was prepared', async () => {
  await writePair('podloop.pem');
  const files = await open();
  expect(loads).not.toHaveBeenCalled();
  await files.prepareRenewal();
  expect(loads).toHaveBeenCalledTimes(1);
  await clock.advance(310 * DAY_MS);
  expect(await files.refresh()).toBe(true);
  expect(loads).toHaveBeenCalledTimes(1);
});

it('loads nothing where somebody else renews the certificate', async () => {
  await writePair('tls.pem');
  const file = join(folder, 'tls.pem');
  const files = await open({ tlsCertFile: file, tlsPrivateKeyFile: file });
  await files.prepareRenewal();
  expect(loads).not.toHaveBeenCalled();
});
