import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EmbeddedNode, until } from './embedded-node.js';
import { HurriedClock } from './hurried-clock.js';
import { AgentNode } from './pod-stories/agent-node.js';

/** Storage limits are checked every ten seconds. */
const SPEED = { fromMs: 9_000, times: 10 };

const FILES = ['/dev/termination-log', '/etc/hosts', '/etc/hostname', '/etc/resolv.conf'];
const nameOf = (file: string): string => file.slice(1).replaceAll(/[/.]/g, '-');

it.skipIf(process.getuid?.() !== 0)(
  'a pod that fills the disk through a file that everybody gives it is evicted',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-written-files-'));
    await using node = await EmbeddedNode.start({ network: 'none', isolation: 'namespaces' });
    try {
      await mkdir(join(folder, 'manifests'));
      const write = async (name: string, script: string): Promise<void> => {
        const resources = { limits: { 'ephemeral-storage': '10Mi' } };
        const command = ['sh', '-c', `${script}; exec sleep 1000`];
        const containers = [{ name: 'c', image: 'podloop.local/host', command, resources }];
        const spec = { terminationGracePeriodSeconds: 1, containers };
        const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
        await writeFile(join(folder, 'manifests', `${name}.json`), JSON.stringify(manifest));
      };
      for (const file of FILES) await write(nameOf(file), `head -c 30000000 /dev/zero >${file}`);
      // A little of each, and a hole of many gigabytes, are within the limit.
      const little = FILES.map((file) => `head -c 1000000 /dev/zero >${file}`).join('; ');
      await write('modest', `${little}; truncate -s 50G /dev/termination-log`);
      await using agent = await AgentNode.start({
        ...{ folder, endpoint: node.listen, clock: new HurriedClock(SPEED), agent: { stopPods: true } },
      });
      for (const file of FILES) {
        const events = await until(
          () => agent.eventsOf(nameOf(file)),
          (found) => found.some((event) => event.includes('Evicted')),
        );
        expect(events.join('\n')).toContain('ephemeral');
      }
      expect(agent.eventsOf('modest').join('\n')).not.toContain('Evicted');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
