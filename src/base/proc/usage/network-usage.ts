import { readFileSync } from 'node:fs';

/** Counters of one network interface since its creation. */
export interface InterfaceUsage {
  readonly name: string;
  readonly received: DirectionUsage;
  readonly sent: DirectionUsage;
}

/** Counters of one direction. */
export interface DirectionUsage {
  readonly bytes: bigint;
  /** Undefined if unknown. */
  readonly packets: bigint | undefined;
  readonly errors: bigint | undefined;
  readonly dropped: bigint | undefined;
}

/** The interfaces in the network namespace of a process, without loopback; none if it is gone. */
export function readNetworkUsage(pid: number): readonly InterfaceUsage[] {
  try {
    const all = parseNetDev(readFileSync(`/proc/${pid}/net/dev`, 'utf8'));
    return all.filter(({ name }) => name !== 'lo');
  } catch {
    return [];
  }
}

/** Parses /proc/PID/net/dev: see proc_pid_net(5). With loopback. */
export function parseNetDev(text: string): readonly InterfaceUsage[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', numbers] = line.split(':');
    const values = (numbers ?? '').trim().split(/\s+/);
    if (numbers === undefined || values.length < MIN_COLUMNS) return [];
    return [{ name: name.trim(), received: toDirection(values), sent: toDirection(values.slice(8)) }];
  });
}

/** Up to the errors of what was sent. */
const MIN_COLUMNS = 11;

function toDirection([bytes, packets, errors, dropped]: readonly string[]): DirectionUsage {
  const value = (text = '0'): bigint => (/^\d+$/.test(text) ? BigInt(text) : 0n);
  return { bytes: value(bytes), packets: value(packets), errors: value(errors), dropped: value(dropped) };
}
