import { formatGoDuration } from '#base/time/go-duration.js';
import { type NamedProcess, type ProcessState } from '../host/host-facts.js';

/** A duration for people: `3ms`, `1.2s`, `2m5s`. */
export function formatMs(ms: number): string {
  if (ms < 10) return formatGoDuration(Math.round(ms * 10) / 10);
  return formatGoDuration(
    ms < 1_000 ? Math.round(ms) : ms < 60_000 ? Math.round(ms / 100) * 100 : Math.round(ms / 1_000) * 1_000,
  );
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A size for people: `512B`, `16MiB`, `1.5GiB`. */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)}${UNITS[unit]}`;
}

/** A share, 0 to 1, for people: `0.4%`, `12%`. */
export function formatPercent(share: number): string {
  const percent = share * 100;
  return `${percent < 10 ? Math.round(percent * 10) / 10 : Math.round(percent)}%`;
}

/** `1 pod`, `2 pods`. */
export function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

/** The first of a list in words, and how many more there are. */
export function nameSome(names: readonly string[], all: number = names.length): string {
  const more = all - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

/** What lets the processes of a frozen cgroup go on, by its folder; in words where that is not known. */
export function howToThaw(cgroup: string): string {
  const [v1, v2] = [`echo THAWED > ${cgroup}/freezer.state`, `echo 0 > ${cgroup}/cgroup.freeze`];
  const isKnown = cgroup.startsWith('/');
  const command = cgroup.startsWith('/sys/fs/cgroup/freezer/') ? v1 : v2;
  return `Thaw it, which interrupts nothing: ${isKnown ? command : `${v1} (cgroup v1), or ${v2} (v2)`}.`;
}

/** What lets a process go on that a signal has stopped, or that a debugger holds. */
export function howToContinue({ pid, tracer }: NamedProcess & Pick<ProcessState, 'tracer'>): string {
  return tracer === undefined
    ? `Let it go on: kill -CONT ${pid}, which interrupts nothing.`
    : `Have the debugger let it go on (${describeTracer(tracer)}): detach or quit, which interrupts nothing. kill -CONT does not help while it is held.`;
}

/** `pid 7 gdb`. */
function describeTracer({ pid, command }: NamedProcess): string {
  return `pid ${pid}${command === '' ? '' : ` ${command}`}`;
}

/** How a process stands still, behind its name. */
export function describeStop({ tracer }: Pick<ProcessState, 'tracer'>): string {
  return tracer === undefined ? 'is stopped by a signal' : 'is held by a debugger';
}

/** Since when something stands still, of a process that the kernel says it of. */
export function sinceOf(
  atMs: number,
  { stillForMs }: { readonly stillForMs?: number | undefined } = {},
): { readonly sinceMs?: number } {
  return stillForMs === undefined ? {} : { sinceMs: atMs - stillForMs };
}

/** The one of these that has stood still for the longest time; undefined where nobody knows of any. */
export function longestOf<T extends { readonly stillForMs?: number }>(
  processes: readonly T[],
): T | undefined {
  const known = processes.filter(({ stillForMs }) => stillForMs !== undefined);
  return known.sort((a, b) => b.stillForMs! - a.stillForMs!)[0];
}

/** `, has not run for 2m`, and who holds it; empty where nobody knows. */
export function describeStandstill({
  stillForMs,
  tracer,
}: Partial<Pick<ProcessState, 'stillForMs' | 'tracer'>>): string {
  const held = tracer === undefined ? '' : `, held by ${describeTracer(tracer)}`;
  return stillForMs === undefined ? held : `${held}, has not run for ${formatMs(stillForMs)}`;
}
