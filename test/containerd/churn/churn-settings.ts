import { type Ending } from './story.js';
import { type SeededRandom } from './random.js';

/** How long, how many and how wild. */
export interface ChurnSettings {
  readonly seed: number;
  readonly pods: number;
  /** How long containers are started; all are removed after it. */
  readonly durationMs: number;
  /** How often containerd is killed (-9) meanwhile. */
  readonly kills: number;
}

/** Share of pods whose containers are removed without waiting. */
export const EARLY_SHARE = 0.1;
/** How long the others stay dead before they are removed. */
export const SETTLE_MS = 3_000;
/** Calls that the driver has under way at once: as many pods as the kubelet would sync beside one another here. */
export const DRIVER_SLOTS = 6;

/** How long a pod lives before it is removed and another takes its place. */
export function drawPodLifeMs(random: SeededRandom, durationMs: number): number {
  return random.between(12_000, Math.max(20_000, durationMs / 2));
}

/** How the next container ends: at once, after seconds, or never by itself. */
export function drawEnding(random: SeededRandom): Ending {
  const afterMs = random.pick([
    random.between(0, 60),
    random.between(200, 2_000),
    random.between(2_000, 12_000),
    random.between(2_000, 12_000),
    random.between(10_000, 25_000),
  ]);
  const code = drawExitCode(random);
  switch (random.pick<Ending['by']>(['exit', 'exit', 'exit', 'term', 'stop', 'kill'])) {
    case 'exit':
      return { by: 'exit', afterMs, code };
    case 'term':
      return { by: 'term', afterMs, code: random.chance(0.5) ? 143 : code };
    case 'stop':
      return { by: 'stop', afterMs };
    case 'kill':
      return { by: 'kill', afterMs };
  }
}

/** Success often, small codes, those that stand for signals, and anything. */
function drawExitCode(random: SeededRandom): number {
  return random.pick([0, 0, 1, 2, 3, 126, 127, 134, 137, 139, 143, 255, random.integer(0, 255)]);
}
