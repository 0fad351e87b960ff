import { readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemCodeOf } from '../../errors/system-code.js';

/** Where the kernel's log is read, by those who may: root, or CAP_SYSLOG. */
export const KERNEL_LOG_DEVICE = '/dev/kmsg';
/** A record has at most 8 KiB; the kernel refuses a smaller buffer for a larger one. */
const RECORD_BYTES = 16 * 1024;
/** More than the largest ring has. */
const MAX_RECORDS = 100_000;
/** Records that are read without a pause: it takes a millisecond or two. */
const SLICE = 500;

/** A line of the log, and when it was written after the start of the machine. */
export interface KernelRecord {
  readonly atMs: number;
  readonly text: string;
}

/**
 * Reads the records that are there, from where the last read ended, without waiting for more.
 *
 * `fd` was opened with O_NONBLOCK. Each read gives one record at once, and EAGAIN says that there is no more.
 */
export async function readKernelRecords(fd: number): Promise<string[]> {
  const buffer = Buffer.alloc(RECORD_BYTES);
  const records: string[] = [];
  for (let reads = 1; reads <= MAX_RECORDS; reads++) {
    if (reads % SLICE === 0) await nextTurn();
    try {
      const bytes = readSync(fd, buffer, 0, RECORD_BYTES, null);
      if (bytes === 0) break;
      records.push(buffer.toString('utf8', 0, bytes));
    } catch (error) {
      if (systemCodeOf(error) === 'EAGAIN') break;
      // The ring has gone on over the record that was next: those behind it can be read.
      if (systemCodeOf(error) !== 'EPIPE') throw error;
    }
  }
  return records;
}

/**
 * Reads `6,1234,98765432,-;text` with lines of keys behind it; undefined for anything else.
 *
 * Programs may write to the log, too, and say there what they like. The kernel marks their records by a facility, which is in the first
 * number above its three lowest bits; those are undefined as well.
 */
export function parseKernelRecord(record: string): KernelRecord | undefined {
  const found = /^[0-7],\d+,(\d+),[^;]*;([^\n]*)/.exec(record);
  return found === null ? undefined : { atMs: Number(found[1]) / 1_000, text: found[2]! };
}
