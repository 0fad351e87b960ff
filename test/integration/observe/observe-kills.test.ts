/**
 * An observer that is killed with -9 again and again while pods come and end: its history and its incidents stay whole, and
 * what they miss has a name.
 *
 * A few kills in each run of the tests; PODLOOP_OBSERVER_KILLS says how many else.
 *
 * @module
 */
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Incident, IncidentStore, type JournalEntry } from '#history';
import { patiently } from '#support/patience.js';
import { RecordingFile } from '../../../src/proxy/record/index.js';
import { SeededRandom } from '../../containerd/churn/random.js';
import { EmbeddedNode } from '../embedded-node.js';
import { PodloopProcess, runPodloop } from '../podloop-process.js';
import { recordResult } from '../results-page.js';
import { type EndedContainer, ObserverChurn } from './observer-churn.js';
import { readJournal } from './read-journal.js';

/** `npm run test:full` says 100. */
const KILLS = Number(process.env['PODLOOP_OBSERVER_KILLS'] ?? 5);
const SEED = Number(process.env['PODLOOP_KILL_SEED'] ?? 20261130);
/** Of the observers, as many live until an incident has begun: the first examination comes after ten seconds. */
const INCIDENT_SHARE = 0.15;

let node: EmbeddedNode;
let runtime: PodloopProcess;
let kubelet: Server;
let root: string;

beforeAll(async () => {
  node = await EmbeddedNode.prepare({ network: 'host' });
  root = join(node.folder, 'observe');
  runtime = new PodloopProcess(['runtime', ...node.args]);
  await runtime.line('stderr', /istening/);
  // A kubelet that is not healthy makes an incident.
  kubelet = createServer((_, answer) => answer.writeHead(500).end('not ok'));
  await new Promise<void>((resolve) => void kubelet.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  kubelet.close();
  await node[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

function observe(): PodloopProcess {
  const { port } = kubelet.address() as AddressInfo;
  return new PodloopProcess([
    ...['observe', '--runtime-endpoint', node.listen, '--root-dir', root, '--node-name', 'test'],
    ...['--metrics-bind-address', '0', '--kubelet-url', ''],
    ...['--healthz-url', `http://127.0.0.1:${port}/healthz`],
  ]);
}

/** Resolves at the moment at which an observer is to be killed: as it starts, at work, or right after an incident began. */
async function untilKill(
  observer: PodloopProcess,
  random: SeededRandom,
  hasIncident: boolean,
): Promise<void> {
  if (hasIncident) {
    await observer.line('stderr', /"Incident began"/);
    await sleep(random.between(0, 400));
  } else if (random.chance(0.4)) {
    await sleep(random.between(100, 1_500));
  } else {
    await observer.line('stderr', /Starting to listen/);
    await sleep(random.between(0, 4_000));
  }
}

it(
  `${KILLS} kills leave no damage, and no gap without a name, seed ${SEED}`,
  { timeout: patiently(120_000 + KILLS * 25_000) },
  async () => {
    const random = new SeededRandom(SEED);
    const churn = new ObserverChurn(node, random.fork());
    const changing = new AbortController();
    const changed = churn.run(changing.signal);
    const store = new IncidentStore(root);
    let observer = observe();
    try {
      // From then on there is something to lose.
      const isComplete = async (): Promise<boolean> => (await stat(join(root, 'observed'))).mtimeMs > 0;
      await expect.poll(() => isComplete().catch(() => false), { timeout: patiently(45_000) }).toBe(true);
      for (let kill = 1; kill <= KILLS; kill++) {
        await untilKill(observer, random, kill === 1 || random.chance(INCIDENT_SHARE));
        await observer.end('SIGKILL');
        if (random.chance(0.7)) await churn.removeEnded();
        expect((await store.list()).damaged, `after kill ${kill}`).toEqual([]);
        observer = observe();
      }
      await observer.line('stderr', /Starting to listen/);
      changing.abort();
      await changed;
      const { stdout } = await runPodloop([
        'incidents',
        '--root-dir',
        root,
        '--socket',
        join(root, 'podloop.sock'),
      ]);
      expect(stdout).toContain('cut off');
      // One more list after the last end.
      await expect
        .poll(async () => (await readPods()).includes('Running'), { timeout: patiently(30_000) })
        .toBe(false);
      // An observer lists every ten seconds at least.
      await sleep(12_000);
      await churn.look();
      expect(await observer.end('SIGTERM')).toEqual({ code: 0, signal: null });
    } finally {
      await observer[Symbol.asyncDispose]();
      changing.abort();
      await changed;
    }

    const records = await readJournal(root);
    const reasons = new Set(records.map(({ reason }) => reason));
    for (const lost of ['HistoryDamaged', 'RecordsLost', 'RecordsDropped'])
      expect(reasons).not.toContain(lost);
    const gaps = records.filter(({ reason }) => reason === 'HistoryGap').map(toGap);
    expect(findUnnamed(records, gaps)).toEqual([]);
    const seen = new Map(
      records
        .filter(({ reason }) => reason === 'ContainerDied')
        .map(({ details }) => [String(details?.['containerId']), Number(details?.['exitCode'])]),
    );
    const ended = [...churn.ended.values()];
    expect(ended.filter((each) => !seen.has(each.id) && !isInGap(each, gaps))).toEqual([]);
    expect(ended.filter((each) => (seen.get(each.id) ?? each.exitCode) !== each.exitCode)).toEqual([]);

    const incidents = await readIncidents(store);
    expect(incidents.map(({ state }) => state)).not.toContain('open');
    const cutOff = incidents.filter(({ state }) => state === 'cut off');
    expect(cutOff.length).toBeGreaterThan(0);
    for (const { findings, lastSeenAt } of cutOff) {
      expect(lastSeenAt).toBeDefined();
      for (const { ending } of findings) expect(ending).toMatch(/^the observer stopped/);
    }
    const findings = records.filter(({ kind }) => kind === 'finding');
    expect(findings.filter(({ details }) => details?.['state'] === 'cut off').length).toBeGreaterThan(0);
    await recordResult('journal', 'The history of a node', {
      name: `podloop observe killed with -9 ${KILLS} times while pods come and end`,
      what: 'On the embedded runtime, as it starts, at work, and right after an incident began. Of what ended, each container is on record or within a gap that is.',
      values: {
        'containers that ended': ended.length,
        'on record': ended.filter(({ id }) => seen.has(id)).length,
        'within a gap on record': ended.filter(({ id }) => !seen.has(id)).length,
        'gaps on record': gaps.length,
        'incidents, all of them readable': incidents.length,
      },
    });
  },
);

interface Gap {
  readonly fromMs: number;
  readonly untilMs: number;
}

function toGap({ atMs, details }: JournalEntry): Gap {
  return { fromMs: Date.parse(String(details?.['from'])), untilMs: atMs };
}

/** Whether it came and went where the history says that nobody watched. */
function isInGap({ endedAtMs, removedAtMs = Infinity }: EndedContainer, gaps: readonly Gap[]): boolean {
  return (
    removedAtMs < Infinity &&
    gaps.some(({ fromMs, untilMs }) => endedAtMs <= untilMs && removedAtMs >= fromMs)
  );
}

/** Starts of observers after one that was killed, without a gap about the time before them. */
function findUnnamed(records: readonly JournalEntry[], gaps: readonly Gap[]): number[] {
  const own = records.filter(({ reason }) => reason === 'ObserverStarted' || reason === 'ObserverStopped');
  const starts = own.filter(
    ({ reason }, at) => reason === 'ObserverStarted' && own[at - 1]?.reason === 'ObserverStarted',
  );
  // A gap is recorded a moment after the start to which it leads.
  const isNamed = (atMs: number): boolean =>
    gaps.some(({ fromMs, untilMs }) => fromMs <= atMs && atMs <= untilMs + 1_000);
  return starts.map(({ atMs }) => atMs).filter((atMs) => !isNamed(atMs));
}

async function readPods(): Promise<string> {
  const { containers } = await node.client.listContainers({});
  return containers.map(({ state }) => (state === 1 ? 'Running' : 'Ended')).join(' ');
}

/** All incidents, after their recordings were read to the end. */
async function readIncidents(store: IncidentStore): Promise<readonly Incident[]> {
  const { items, damaged } = await store.list();
  expect(damaged).toEqual([]);
  for (const { id } of items) {
    const names = await readdir(join(store.folder, String(id)));
    if (!names.includes('calls.plrec')) continue;
    if ((await stat(store.recordingOf(id))).size === 0) continue;
    await using file = await RecordingFile.open(store.recordingOf(id));
    for await (const _block of file.readFrames());
  }
  return items;
}
