import { parsePressure, type Pressure, type PressureLine } from '#base/proc/usage/pressure.js';
import { type HostFiles } from './host-files.js';
import { known, type Looked, notKnown } from '../looked.js';
import { type PressureFacts, type PressureOf } from './machine-facts.js';

/** The counters of /proc/pressure at a time of the clock that does not jump. */
export interface PressureReading {
  readonly atMs: number;
  readonly cpu: Pressure;
  readonly io: Pressure;
  readonly memory: Pressure;
}

/** Reads /proc/pressure; undefined where the kernel does not measure it. See https://docs.kernel.org/accounting/psi.html. */
export async function findPressure(files: HostFiles): Promise<PressureReading | undefined> {
  const atMs = files.clock.monotonicMs();
  const read = async (name: string): Promise<Pressure | undefined> =>
    parsePressure(await files.find(`/proc/pressure/${name}`));
  const [cpu, io, memory] = [await read('cpu'), await read('io'), await read('memory')];
  if (cpu === undefined || io === undefined || memory === undefined) return undefined;
  return { atMs, cpu, io, memory };
}

/** The pressure as of now, and what came since an earlier reading. */
export async function readPressure(
  files: HostFiles,
  before?: PressureReading,
): Promise<Looked<PressureFacts>> {
  const now = await findPressure(files);
  if (now === undefined)
    return notKnown('the kernel does not measure pressure (PSI): /proc/pressure cannot be read');
  const of = (name: 'cpu' | 'io' | 'memory'): PressureOf => ({
    ...toFacts(now[name]),
    ...(before === undefined || now.atMs <= before.atMs
      ? {}
      : {
          someNow: shareOf(before[name].some, now[name].some, now.atMs - before.atMs),
          fullNow: shareOf(before[name].full, now[name].full, now.atMs - before.atMs),
        }),
  });
  return known({ cpu: of('cpu'), io: of('io'), memory: of('memory') });
}

function toFacts({ some, full }: Pressure): PressureOf {
  return {
    ...{ someAvg10: some.avg10, someAvg60: some.avg60 },
    ...{ fullAvg10: full.avg10, fullAvg60: full.avg60 },
  };
}

/** In percent, as the kernel's averages; two decimals. */
function shareOf(before: PressureLine, now: PressureLine, forMs: number): number {
  const percent = Number(now.totalUs - before.totalUs) / (10 * forMs);
  return Math.round(Math.min(100, Math.max(0, percent)) * 100) / 100;
}
