import { type CgroupLayout } from '../cgroups/cgroup-layout.js';

/** Bytes and operations that a group has read from and written to one device. */
export interface DeviceUse {
  /** For example `254:0`. */
  readonly device: string;
  readonly readBytes: bigint;
  readonly writtenBytes: bigint;
  readonly reads: bigint;
  readonly writes: bigint;
}

/** Huge pages of one size. */
export interface HugepageUse {
  /** For example `2MB`. */
  readonly pageSize: string;
  readonly usageBytes: bigint;
  readonly highestUsageBytes: bigint | undefined;
}

type Counter = Exclude<keyof DeviceUse, 'device'>;

const V2_COUNTERS: Readonly<Record<string, Counter>> = {
  rbytes: 'readBytes',
  wbytes: 'writtenBytes',
  rios: 'reads',
  wios: 'writes',
};

/** What a group has read and written, by device, as far as the machine counts it. */
export function readDeviceUses(layout: CgroupLayout, group: string): readonly DeviceUse[] {
  const uses = new Map<string, Record<Counter, bigint>>();
  const add = (device: string, counter: Counter | undefined, value: string): void => {
    if (counter === undefined || !/^\d+$/.test(value)) return;
    const use = uses.get(device) ?? { readBytes: 0n, writtenBytes: 0n, reads: 0n, writes: 0n };
    uses.set(device, use);
    use[counter] += BigInt(value);
  };
  for (const line of linesOf(layout.read('io', group, 'io.stat'))) {
    const [device = '', ...pairs] = line.split(' ');
    for (const [name = '', value = ''] of pairs.map((pair) => pair.split('='))) {
      add(device, V2_COUNTERS[name], value);
    }
  }
  const v1 = [
    ['blkio.throttle.io_service_bytes_recursive', { Read: 'readBytes', Write: 'writtenBytes' }],
    ['blkio.throttle.io_serviced_recursive', { Read: 'reads', Write: 'writes' }],
  ] as const;
  for (const [file, counters] of v1) {
    for (const line of linesOf(layout.read('blkio', group, file))) {
      const [device = '', operation = '', value = ''] = line.split(' ');
      add(device, (counters as Readonly<Record<string, Counter>>)[operation], value);
    }
  }
  return [...uses].map(([device, use]) => ({ device, ...use }));
}

/** The possible sizes of huge pages; a group has a file for each size of the machine. */
const PAGE_SIZES = ['64KB', '1MB', '2MB', '16MB', '32MB', '512MB', '1GB', '16GB'];

/** A group's huge pages, for every size of the machine. */
export function readHugepageUses(layout: CgroupLayout, group: string): readonly HugepageUse[] {
  const hierarchy = layout.find('hugetlb');
  if (hierarchy === undefined) return [];
  const [usage, highest] =
    hierarchy.version === 1 ? ['usage_in_bytes', 'max_usage_in_bytes'] : ['current', 'peak'];
  const read = (pageSize: string, file: string): bigint | undefined => {
    const text = layout.read('hugetlb', group, `hugetlb.${pageSize}.${file}`)?.trim() ?? '';
    return /^\d+$/.test(text) ? BigInt(text) : undefined;
  };
  return PAGE_SIZES.flatMap((pageSize) => {
    const usageBytes = read(pageSize, usage);
    if (usageBytes === undefined) return [];
    return [{ pageSize, usageBytes, highestUsageBytes: read(pageSize, highest) }];
  });
}

function linesOf(text: string | undefined): string[] {
  return (text ?? '').split('\n').filter((line) => line !== '');
}
