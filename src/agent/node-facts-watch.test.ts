import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { SILENT_LOGGER } from '../util/logger.js';
import { NodeFactsWatch } from './node-facts-watch.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-facts-'));
});
afterEach(() => rm(folder, { recursive: true }));

function watch(resolvConf: string): { facts: NodeFactsWatch; warnings: string[] } {
  const warnings: string[] = [];
  const facts = new NodeFactsWatch({
    ...{ nodeInstance: 'me', resolvConf, behindStub: join(folder, 'behind'), seccompDir: '/profiles' },
    pageSizeBytes: 4_096,
    ...{ cpuCfsQuota: true, cpuCfsQuotaPeriodMs: 100, clusterDns: [], clusterDomain: '' },
    ...{ seccompDefault: false, strictGroups: () => undefined, canMount: () => true },
    clock: new FakeClock(),
    logger: { ...SILENT_LOGGER, warn: (message: string) => void warnings.push(message) },
  });
  return { facts, warnings };
}

describe('the name servers of a node', () => {
  const file = (): string => join(folder, 'resolv.conf');

  it('are read again and again, and stay when they cannot be read', async () => {
    const { facts, warnings } = watch(file());
    await facts.refresh();
    await facts.refresh();
    expect(facts.facts().resolver.servers).toEqual([]);
    expect(warnings).toEqual(['Resolver configuration cannot be read']);
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

  it('are none where the node is told to have none', async () => {
    const { facts, warnings } = watch('');
    await facts.refresh();
    expect(facts.facts().resolver).toEqual({ servers: [], searches: [], options: [] });
    expect(warnings).toEqual([]);
  });
});
