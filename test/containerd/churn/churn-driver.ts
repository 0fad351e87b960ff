/**
 * Makes pods live and die on a real containerd, by a seed, and kills containerd itself meanwhile.
 *
 * In: a running containerd and the settings. Out: the log of everything that was done and seen, which together with
 * the files that the containers write is what the generator's events are judged by. The choices come from the
 * seed, the interleaving from the machine.
 *
 * @module
 */
import { setMaxListeners } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Containerd } from '../harness/containerd.js';
import { runtimeService } from '../harness/cri-driver.js';
import { ChurnPod } from './churn-pod.js';
import { DRIVER_SLOTS, drawPodLifeMs, EARLY_SHARE, type ChurnSettings } from './churn-settings.js';
import { ChurnWorld } from './churn-world.js';
import { ContainerWatch } from './container-watch.js';
import { SeededRandom } from './random.js';
import { RuntimeGate } from './runtime-gate.js';
import { type ChurnLog } from './story.js';

/** What {@link driveChurn} leaves. */
export interface ChurnOutcome {
  readonly log: ChurnLog;
  /** Where the containers wrote their own words. */
  readonly folder: string;
}

/** Drives the churn to its end: nothing is left in the runtime when it resolves; rejects where something is. */
export async function driveChurn(containerd: Containerd, settings: ChurnSettings): Promise<ChurnOutcome> {
  const folder = path.join(containerd.folder, 'churn');
  await mkdir(folder);
  const gate = new RuntimeGate(containerd, DRIVER_SLOTS);
  const watch = new ContainerWatch(containerd.driver, gate);
  const log: ChurnLog = { containers: [], sandboxes: [], outages: gate.outages };
  const world = new ChurnWorld({ containerd, gate, watch, log, folder });
  const random = new SeededRandom(settings.seed);
  const kills = random.fork();
  const watching = new AbortController();
  const watched = watch.run(watching.signal);
  const stopping = AbortSignal.timeout(settings.durationMs);
  // Every pod listens to it.
  setMaxListeners(0, stopping);
  try {
    await Promise.all([
      killNowAndThen(gate, kills, settings),
      ...Array.from({ length: settings.pods }, (_, index) =>
        keepPodsComing(world, random.fork(), `churn-${index}`, settings, stopping),
      ),
    ]);
  } finally {
    watching.abort();
    await watched;
  }
  await expectNothing(containerd);
  return { log, folder };
}

/** What stayed would be nobody's fault but this driver's. */
async function expectNothing({ driver }: Containerd): Promise<void> {
  const { items } = await driver.call(runtimeService.listPodSandbox, { filter: undefined });
  const { containers } = await driver.call(runtimeService.listContainers, { filter: undefined });
  const left = [...items, ...containers].map(({ id }) => id);
  if (left.length > 0) throw new Error(`the driver has left ${left.join(', ')} in the runtime`);
}

/** One pod after the other, each with a name and uid of its own. */
async function keepPodsComing(
  world: ChurnWorld,
  random: SeededRandom,
  name: string,
  settings: ChurnSettings,
  stopping: AbortSignal,
): Promise<void> {
  await sleep(random.between(0, 2_000));
  for (let generation = 0; !stopping.aborted; generation++) {
    const pod = new ChurnPod(world, random, `${name}-${generation}`, random.chance(EARLY_SHARE));
    await pod.run(drawPodLifeMs(random, settings.durationMs), stopping);
  }
}

/** Kills are spread over the whole time, each at a random point of its share. */
async function killNowAndThen(
  gate: RuntimeGate,
  random: SeededRandom,
  settings: ChurnSettings,
): Promise<void> {
  const shareMs = settings.durationMs / Math.max(1, settings.kills);
  const startMs = performance.now();
  for (let kill = 0; kill < settings.kills; kill++) {
    const atMs = (kill + random.between(0.2, 0.8)) * shareMs;
    await sleep(Math.max(0, startMs + atMs - performance.now()));
    await gate.killContainerd(random.between(0, 1_500));
  }
}
