import { join } from 'node:path';
import { type CgroupLayout } from '../cgroups/cgroup-layout.js';

/**
 * How long processes waited for a resource: `some` is at least one of them, `full` all of them at the same
 * time.
 */
export interface Pressure {
  readonly some: PressureLine;
  readonly full: PressureLine;
}

/** Shares of the time in percent over the last 10, 60 and 300 seconds, and the total in microseconds. */
export interface PressureLine {
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
  readonly totalUs: bigint;
}

const NONE: PressureLine = { avg10: 0, avg60: 0, avg300: 0, totalUs: 0n };

/** Pressure stall information of a group: see the kernel's documentation of PSI. Empty without version 2. */
export function readPressure(
  { io, unified }: CgroupLayout,
  group: string,
): { readonly [resource in 'cpu' | 'memory' | 'io']?: Pressure } {
  if (unified === undefined) return {};
  const read = (resource: string): Pressure | undefined =>
    parsePressure(io.read(join(unified.mountpoint, group, `${resource}.pressure`)));
  return { cpu: read('cpu'), memory: read('memory'), io: read('io') };
}

/** Parses lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`; undefined if there are none. */
export function parsePressure(text: string | undefined): Pressure | undefined {
  const lines = new Map<string, PressureLine>();
  for (const line of (text ?? '').split('\n')) {
    const match = /^(some|full) avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d+)/.exec(line);
    if (match === null) continue;
    const [, name = '', avg10, avg60, avg300, total = '0'] = match;
    lines.set(name, {
      avg10: Number(avg10),
      avg60: Number(avg60),
      avg300: Number(avg300),
      totalUs: BigInt(total),
    });
  }
  const some = lines.get('some');
  return some && { some, full: lines.get('full') ?? NONE };
}
