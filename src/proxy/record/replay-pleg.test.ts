import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../../watch/cri/client.js';
import { Pleg } from '../../watch/pleg/pleg.js';
import { CriRuntime } from '../../watch/observed/cri-runtime.js';
import { FakeClock } from '#testing/fake-clock.js';
import { takeAll } from '#support/harness/pleg-harness.js';
import { serveSyntheticRuntime, type SyntheticControl } from '#testing/synthetic-runtime/index.js';
import { RecordProxy, ReplayServer, summarizeRecording } from './index.js';

const ROUNDS = 25;
const PODS = 12;

/** Looks at a runtime each second of a clock that stands still otherwise; the events of each look, as lines. */
async function watch(
  endpoint: string,
  clock: FakeClock,
  before: (round: number) => Promise<void> = () => Promise.resolve(),
): Promise<string[][]> {
  const client = new CriClient({ endpoint });
  const pleg = new Pleg({ runtime: new CriRuntime({ client, clock }), clock, mode: 'generic' });
  const events = pleg.subscribe();
  const rounds: string[][] = [];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await before(round);
      await pleg.relist();
      rounds.push(
        takeAll(events).map((event) => {
          if (!('containerId' in event)) return `${event.type} ${'pod' in event ? event.pod.name : ''}`;
          return `${event.type} ${event.pod.name} ${event.containerId} ${event.exitCode} ${event.reason}`;
        }),
      );
      await clock.advance(1_000);
    }
  } finally {
    events.close();
    client.close();
  }
  return rounds;
}

/** Does something else each round, the same for the same round. */
async function churn(control: SyntheticControl, round: number): Promise<void> {
  const pods = await control.pods();
  const pick = pods[(round * 5) % pods.length];
  const podUids = pick === undefined ? [] : [pick.uid];
  if (round % 6 === 1) await control.kill({ podUids, count: 1 }, { exitCode: round });
  if (round % 6 === 2) await control.addPods({ count: 1, containersPerPod: 2 });
  if (round % 6 === 3) await control.restart({ podUids, count: 2 });
  if (round % 6 === 4) await control.stopPods(podUids);
  if (round % 6 === 5) await control.removePods(podUids);
}

describe('an event generator over a replay', () => {
  it('tells of the same events in the same order as the one that was recorded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-replay-'));
    const file = join(folder, 'churn.plrec');
    try {
      await using runtime = await serveSyntheticRuntime(join(folder, 'cri.sock'), {
        ...{ pods: PODS, containersPerPod: 2 },
      });
      const clock = new FakeClock();
      const recorder = await RecordProxy.start({
        ...{ upstream: runtime.endpoint, listen: `unix://${join(folder, 'record.sock')}`, file, clock },
      });
      const recorded = await watch(recorder.endpoint, clock, (round) => churn(runtime.control, round));
      expect(recorder.counts).toMatchObject({ lost: 0, unreadable: 0 });
      await recorder.close();
      const kinds = new Set(recorded.flat().map((line) => line.split(' ')[0]));
      expect(kinds).toEqual(new Set(['ContainerStarted', 'ContainerDied', 'ContainerRemoved']));

      for (const offsetMs of [0, 500]) {
        const replayClock = new FakeClock();
        const listen = `unix://${join(folder, 'replay.sock')}`;
        await using replay = await ReplayServer.start({ file, listen, clock: replayClock });
        const first = new CriClient({ endpoint: replay.endpoint });
        await first.version();
        first.close();
        await replayClock.advance(offsetMs);
        expect(await watch(replay.endpoint, replayClock)).toEqual(recorded);
      }
      const { methods, pods, hangs, isComplete } = await summarizeRecording(file);
      expect({ isComplete, hangs }).toEqual({ isComplete: true, hangs: [] });
      expect(pods.length).toBeGreaterThan(PODS);
      expect(methods.find(({ method }) => method === 'ListContainers')!.calls).toBeGreaterThanOrEqual(ROUNDS);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
