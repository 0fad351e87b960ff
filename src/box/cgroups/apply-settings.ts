import { dirname, join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { invalidArgument, refused, RpcError } from '../rpc-error.js';
import { type CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { type Setting } from './resource-settings.js';

/** A setting with the file that it goes to. */
interface PlacedSetting extends Setting {
  readonly path: string;
  /** What the file said before. */
  readonly old: string;
}

/**
 * Writes all settings of a group or, when one is refused, none: what was written is taken back.
 *
 * Rejects with INVALID_ARGUMENT for a value that the kernel does not take, with UNKNOWN where a required controller
 * is missing and for limits below what is in use.
 */
export async function applySettings(
  layout: CgroupLayout,
  group: string,
  settings: readonly Setting[],
): Promise<void> {
  const placed = settings.flatMap((setting) => place(layout, group, setting));
  const written: PlacedSetting[] = [];
  try {
    for (const unit of toUnits(placed)) await writeUnit(layout, unit, written);
  } catch (error) {
    await takeBack(layout, written);
    throw error;
  }
}

function place(layout: CgroupLayout, group: string, setting: Setting): PlacedSetting[] {
  const { controller, file, required = false } = setting;
  const hierarchy = layout.find(controller);
  const path = join(hierarchy?.mountpoint ?? '', group, file);
  const old = hierarchy === undefined ? undefined : layout.io.read(path);
  if (old !== undefined) return [{ ...setting, path, old: old.trim() }];
  if (!required) return [];
  const why =
    hierarchy === undefined ? `there is no writable controller "${controller}"` : 'there is no such file';
  throw refused(`cgroup: ${file} cannot be set: ${why}`);
}

/** Settings of one pair stand together. */
function toUnits(settings: readonly PlacedSetting[]): PlacedSetting[][] {
  const units: PlacedSetting[][] = [];
  for (const setting of settings) {
    const last = units.at(-1);
    if (setting.pair !== undefined && last?.[0]?.pair === setting.pair) last.push(setting);
    else units.push([setting]);
  }
  return units;
}

async function writeUnit(
  layout: CgroupLayout,
  unit: readonly PlacedSetting[],
  written: PlacedSetting[],
): Promise<void> {
  const done: PlacedSetting[] = [];
  try {
    for (const setting of unit) await writeOne(layout, setting, done);
  } catch (error) {
    await takeBack(layout, done);
    if (unit.length === 1) throw error;
    // Raised, the outer limit of a pair must come first; lowered, the inner one.
    done.length = 0;
    try {
      for (const setting of [...unit].reverse()) await writeOne(layout, setting, done);
    } catch (again) {
      await takeBack(layout, done);
      // Of the two the one that is about more than the order.
      throw error instanceof RpcError && error.code !== status.INVALID_ARGUMENT ? error : again;
    }
  }
  written.push(...done);
}

async function writeOne(layout: CgroupLayout, setting: PlacedSetting, done: PlacedSetting[]): Promise<void> {
  checkMemoryInUse(layout, setting);
  try {
    await layout.io.write(setting.path, setting.value);
    done.push(setting);
  } catch (error) {
    const sentence = `cgroup: ${setting.file} cannot be set to "${setting.value}": ${messageOf(error)}`;
    throw ['EINVAL', 'ERANGE'].includes(systemCodeOf(error)) ? invalidArgument(sentence) : refused(sentence);
  }
}

/**
 * Refuses a memory limit of version 2 below what is in use, as the kernel does in version 1: in version 2 it takes any limit
 * and kills processes until it holds. Pages of files count as free, since the kernel can drop them.
 */
function checkMemoryInUse(layout: CgroupLayout, { path, file, value }: PlacedSetting): void {
  if (file !== 'memory.max' || !/^\d+$/.test(value)) return;
  const read = (name: string): string => layout.io.read(join(dirname(path), name)) ?? '';
  const stat = read('memory.stat');
  const filePages = ['active_file', 'inactive_file'].map((name) =>
    BigInt(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0),
  );
  const current = /^\d+/.exec(read('memory.current'))?.[0] ?? '0';
  const inUse = filePages.reduce((left, pages) => left - pages, BigInt(current));
  if (inUse > BigInt(value))
    throw refused(`cgroup: ${file} cannot be set to "${value}": ${inUse} bytes are in use`);
}

/** As far as the kernel lets us: the error that is on its way says what went wrong. */
async function takeBack(layout: CgroupLayout, written: readonly PlacedSetting[]): Promise<void> {
  for (const { path, old } of [...written].reverse()) await layout.io.write(path, old).catch(() => undefined);
}
