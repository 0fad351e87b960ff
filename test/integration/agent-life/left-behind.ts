import { channel } from 'node:diagnostics_channel';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type ClockTimer, SystemClock } from '#base/time/clock.js';

/** What a process has open at one moment, each kind by name with how often it is there. */
export type Belongings = Readonly<Record<string, number>>;

/** Those of the tests themselves come and go; timers of an agent are counted by its clock. */
const TRANSIENT = new Set(['FSReqPromise', 'FSReqCallback', 'Timeout', 'Immediate']);

const SOURCES = join(import.meta.dirname, '../../../src');

/** The names of all diagnostics channels, from the sources. */
const CHANNELS = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => [...readFileSync(join(SOURCES, file), 'utf8').matchAll(/'(podloop:[a-z:-]+)'/g)])
  .map(([, name = '']) => name);

/** The machine's clock, which knows the timers that nobody has cancelled and that have not fired. */
export class CountingClock extends SystemClock {
  readonly #pending = new Set<object>();

  get pendingTimers(): number {
    return this.#pending.size;
  }

  override setTimer(delayMs: number, callback: () => void, options?: { unref?: boolean }): ClockTimer {
    const entry = {};
    this.#pending.add(entry);
    const timer = super.setTimer(
      delayMs,
      () => {
        this.#pending.delete(entry);
        callback();
      },
      options,
    );
    return {
      cancel: () => {
        this.#pending.delete(entry);
        timer.cancel();
      },
    };
  }

  override async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    const entry = {};
    this.#pending.add(entry);
    await super.sleep(delayMs, signal).finally(() => this.#pending.delete(entry));
  }
}

/** Everything that a part of an agent could leave behind and that shows in this process, or mounted below `folder`. */
export function readBelongings(folder: string): Belongings {
  const found = [
    ...openFiles(),
    ...process
      .getActiveResourcesInfo()
      .filter((kind) => !TRANSIENT.has(kind))
      .map((kind) => `resource ${kind}`),
    ...childProcesses().map((name) => `process ${name}`),
    ...readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[4] ?? '')
      .filter((place) => place.startsWith(folder))
      .map((place) => `mount ${place}`),
    ...CHANNELS.filter((name) => channel(name).hasSubscribers).map((name) => `listener ${name}`),
  ];
  const counts: Record<string, number> = {};
  for (const name of found) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** What is there that was not there before, one line each. */
export function findLeft(before: Belongings, now: Belongings): string[] {
  return Object.entries(now)
    .filter(([name, count]) => count > (before[name] ?? 0))
    .map(([name, count]) => `${name}: ${count - (before[name] ?? 0)} more`);
}

/** The command lines of processes that name a folder, whoever has started them. */
export function findCommands(folder: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return command.includes(folder) ? [command] : [];
    } catch {
      return [];
    }
  });
}

/** Sockets and pipes by their kind, files by their path. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [`open ${readlinkSync(`/proc/self/fd/${fd}`).replace(/:\[\d+\]$/, '')}`];
    } catch {
      // That of the listing itself.
      return [];
    }
  });
}

function childProcesses(): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const [, name = '', rest = ''] = /\((.*)\) (.*)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
      return rest.split(' ')[1] === String(process.pid) ? [name] : [];
    } catch {
      return [];
    }
  });
}
