import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { Channels, type PublishingChannel } from '#base/channels/publishing-channel.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { readMetricsPage } from '#support/builders/metrics-page.js';
import { spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { Agent } from '../../../src/node/agent.js';
import { INLINE_PARSER } from '../../../src/node/desired/manifests/parse-manifest.js';
import { readHistoryOnDisk } from '../../../src/node/history/history-on-disk.js';
import { Observer } from '../../../src/node/observer.js';
import { resolveAgentOptions } from '../../../src/node/options/resolve-agent-options.js';
import { LocalApiClient } from '../local-api-client.js';

const SOURCES = join(import.meta.dirname, '../../../src');
const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'lonely' } },
  spec: { containers: [{ name: 'main', image: 'busybox' }] },
};

/** Every channel that podloop has. */
async function allChannels(): Promise<PublishingChannel<unknown>[]> {
  const folder = join(SOURCES, 'base/channels');
  const files = readdirSync(folder)
    .filter((file) => /(?<!\.test)\.ts$/.test(file))
    .map((file) => join(folder, file));
  files.push(join(SOURCES, 'node/telemetry/reports/pod-event-log.ts'));
  files.push(join(SOURCES, 'node/status/status-changes.ts'));
  const modules = await Promise.all(files.map(async (file) => import(file) as Promise<object>));
  return modules.flatMap((each) => Object.values(each) as unknown[]).filter(isChannel);
}

function isChannel(value: unknown): value is PublishingChannel<unknown> {
  return typeof value === 'object' && value !== null && 'subscribe' in value && 'hasSubscribers' in value;
}

/** An agent with a folder, a runtime and channels of its own. */
async function startAgent(folder: string, endpoint: string, channels: Channels) {
  const manifests = join(folder, 'manifests');
  await mkdir(manifests, { recursive: true });
  const options = resolveAgentOptions({
    ...{ podManifestPath: manifests, rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') },
    ...{ runtimeEndpoint: endpoint, readOnlyPort: 0, healthzPort: 0, port: 0, nodeName: 'test' },
  });
  const ports = {
    ...{ channels, clock: new SystemClock(), logger: SILENT_LOGGER, stdin: new PassThrough() },
    ...{ podloopCommand: ['/nosuch'] as const, manifestParser: INLINE_PARSER },
  };
  const agent = await Agent.start(options, ports, new AbortController().signal);
  const ending = new AbortController();
  const running = agent.run(ending.signal);
  const api = new LocalApiClient(agent.socket);
  return {
    ask: async (path: string) => (await api.ask(path)).text,
    end: async () => {
      ending.abort();
      await running;
      await agent.close();
    },
    history: async () => {
      const query = { rootDir: options.rootDir, filter: {}, clock: new SystemClock() };
      const entries = [];
      for await (const entry of readHistoryOnDisk(query, new AbortController().signal)) entries.push(entry);
      return entries;
    },
  };
}

it('two agents and an observer in one process hear only themselves', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-two-agents-'));
  const runtimes = [];
  for (let count = 0; count < 3; count++) {
    runtimes.push(await spawnSyntheticRuntime({ pods: count, containersPerPod: 1, seed: `seed-${count}` }));
  }
  const [ofBusy, ofQuiet, ofObserver] = runtimes.map(({ endpoint }) => endpoint);
  /** By the name of a channel: messages outside, less those inside. */
  const balance = new Map<string, number>();
  const heard = { busy: new Map<string, number>(), quiet: new Map<string, number>() };
  const count = (counts: Map<string, number>, name: string, by: number): void =>
    void counts.set(name, (counts.get(name) ?? 0) + by);
  const [busyChannels, quietChannels] = [new Channels(), new Channels()];
  const leave: (() => void)[] = [];
  let observing = false;
  try {
    for (const channel of await allChannels()) {
      const { name } = channel;
      const insides = [
        [busyChannels, heard.busy],
        [quietChannels, heard.quiet],
      ] as const;
      for (const [channels, counts] of insides) {
        const unsubscribe = channels.subscribe(channel, () => {
          count(counts, name, 1);
          if (!observing) count(balance, name, -1);
        });
        leave.push(unsubscribe);
      }
      leave.push(channel.subscribe(() => (observing ? undefined : count(balance, name, 1))));
    }
    const quiet = await startAgent(join(folder, 'quiet'), ofQuiet!, quietChannels);
    // Nothing is published beside the channels of an agent, but by what looks for the runtime.
    const busy = await startAgent(join(folder, 'busy'), ofBusy!, busyChannels);
    await writeFile(join(folder, 'busy/manifests/lonely.json'), JSON.stringify(POD));
    await expect.poll(() => heard.busy.get('podloop:workers:sync:ended') ?? 0).toBeGreaterThan(1);
    for (let asked = 0; asked < 5; asked++) await busy.ask('/pods');
    observing = true;

    await using observer = await Observer.connect({ runtimeEndpoint: ofObserver!, mode: 'generic' });
    using report = observer.startReport();
    const watching = new AbortController();
    const watched = observer.run(watching.signal);
    await expect.poll(() => report.read().relists.count).toBeGreaterThan(1);
    watching.abort();
    await watched;
    const { relists, operations } = report.read();
    expect(relists.history).toHaveLength(relists.count);
    // The lists of others would count, too.
    expect(operations.find(({ operation }) => operation === 'list_podsandbox')!.count).toBe(relists.count);
    expect(operations.map(({ operation }) => operation)).not.toContain('run_podsandbox');

    const page = readMetricsPage(await quiet.ask('/metrics'));
    const total = (name: string): number =>
      page.get(name)?.samples.reduce((sum, { name: each, value }) => sum + (each === name ? value : 0), 0) ??
      0;
    // Its first answer is this page itself.
    expect(total('kubelet_http_requests_total')).toBe(1);
    expect(page.get('podloop_pod_syncs_total')?.samples ?? []).toEqual([]);
    for (const name of [
      'podloop:workers:sync:ended',
      'podloop:agent:pod-event:recorded',
      'podloop:status:changed',
    ]) {
      expect({ name, count: heard.quiet.get(name) ?? 0 }).toEqual({ name, count: 0 });
    }
    await busy.end();
    await quiet.end();
    const ofPods = (records: Awaited<ReturnType<typeof quiet.history>>): string[] =>
      records.flatMap(({ pod, kind }) => (pod === undefined ? [] : [`${kind} ${pod.name}`]));
    expect(ofPods(await busy.history())).toContain('event lonely-test');
    expect(ofPods(await quiet.history()).filter((each) => each.includes('lonely'))).toEqual([]);
    expect([...balance].filter(([, left]) => left !== 0)).toEqual([]);
  } finally {
    leave.forEach((each) => each());
    for (const runtime of runtimes) await runtime.close();
    await rm(folder, { recursive: true, force: true });
  }
});
