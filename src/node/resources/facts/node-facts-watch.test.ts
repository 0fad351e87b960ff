import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { NodeFactsWatch } from './node-facts-watch.js';
import { type NodeReading } from './node-readings.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-facts-'));
});
afterEach(() => rm(folder, { recursive: true }));

function watch(resolvConf: string, others: readonly NodeReading[] = []) {
  const [clock, logger] = [new FakeClock(), new LogRecorder()];
  const facts = new NodeFactsWatch({
    ...{ nodeInstance: 'me', resolvConf, behindStub: join(folder, 'behind'), seccompDir: '/profiles' },
    pageSizeBytes: 4_096,
    ...{
      cpuCfsQuota: true,
      cpuCfsQuotaPeriodMs: 100,
      oomKillsContainer: false,
      isInCluster: false,
      clusterDns: [],
      clusterDomain: '',
    },
    ...{ seccompDefault: false, strictGroups: () => undefined, canMount: () => true },
    ...{ others, clock, logger },
  });
  const warnings = (): string[] => logger.complaints.map(({ message }) => message);
  return { facts, warnings, clock, logger };
}

describe('the name servers of a node', () => {
  const file = (): string => join(folder, 'resolv.conf');

  it('are read again and again, and stay when they cannot be read', async () => {
    const { facts, warnings } = watch(file());
    await facts.refresh();
    await facts.refresh();
    expect(facts.facts().resolver.servers).toEqual([]);
    expect(warnings()).toEqual(['Resolver configuration cannot be read']);
    await writeFile(file(), 'nameserver 192.0.2.1\n');
    await facts.refresh();
    await rm(file());
    await facts.refresh();
    expect(facts.facts().resolver.servers).toEqual(['192.0.2.1']);
  });

  it('are those behind the stub of systemd-resolved, which no pod can reach', async () => {
    await writeFile(file(), 'nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch corp.example\n');
    const { facts } = watch(file());
    await facts.refresh();
    expect(facts.facts().resolver.servers).toEqual(['127.0.0.53']);
    await writeFile(join(folder, 'behind'), 'nameserver 192.0.2.2\nnameserver 192.0.2.3\nsearch lan\n');
    await facts.refresh();
    expect(facts.facts().resolver).toEqual({
      servers: ['192.0.2.2', '192.0.2.3'],
      searches: ['lan'],
      options: [],
    });
  });

  it('are none where the node is configured to have none', async () => {
    const { facts, warnings } = watch('');
    await facts.refresh();
    expect(facts.facts().resolver).toEqual({ servers: [], searches: [], options: [] });
    expect(warnings()).toEqual([]);
  });
});

describe('a reading of the node that hangs', () => {
  const hanging = { name: 'resources', read: async () => new Promise<void>(() => undefined) };

  it('is waited for no longer than five seconds, and stops no other', async () => {
    const resolvConf = join(folder, 'resolv.conf');
    await writeFile(resolvConf, 'nameserver 192.0.2.1\n');
    const { facts, clock, logger } = watch(resolvConf, [hanging]);
    const refreshed = facts.refresh();
    await expect.poll(() => facts.facts().resolver.servers).toEqual(['192.0.2.1']);
    await clock.advance(5_000);
    await refreshed;
    expect(logger.complaints.map(({ fields }) => fields)).toContainEqual({
      ...{ reading: 'resources', afterMs: 5_000 },
    });
  });

  it('does not hold up the end', async () => {
    const { facts, clock, logger } = watch('', [hanging]);
    const abort = new AbortController();
    const running = facts.run(abort.signal);
    await clock.settle();
    abort.abort();
    await running;
    expect(logger.lines).toEqual([]);
  });
});
