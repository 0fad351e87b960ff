import { Session } from 'node:inspector/promises';

/** A function and its share of the CPU time of a piece of work, without what it called. */
export interface ProfiledFunction {
  /** `name (file:line)`; the engine's own work in parentheses. */
  readonly name: string;
  readonly share: number;
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

const SAMPLE_EVERY_US = 200;
/** Waiting is no work, and what starts and ends the profiler is not of what is profiled. */
const NOT_WORK = new Set(['(idle)', '(root)', 'dispatch']);

/** Runs something under the engine's profiler: where its time on the main thread went, the largest share first. */
export async function profileCpu(
  run: () => Promise<unknown>,
): Promise<{ readonly functions: readonly ProfiledFunction[]; readonly parts: readonly ProfiledFunction[] }> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US });
    await session.post('Profiler.start');
    await run();
    const { profile } = await session.post('Profiler.stop');
    return { functions: sharesOf(profile, nameOf), parts: sharesOf(profile, partOf) };
  } finally {
    session.disconnect();
  }
}

/** The share of each function, or of whatever else `label` makes of one, in the samples of a profile. */
export function sharesOf(
  profile: {
    readonly nodes: readonly ProfileNode[];
    readonly samples?: readonly number[];
    readonly timeDeltas?: readonly number[];
  },
  label: (frame: ProfileNode['callFrame']) => string = nameOf,
): ProfiledFunction[] {
  const working = profile.nodes.filter(({ callFrame }) => !NOT_WORK.has(nameOf(callFrame)));
  const labels = new Map(working.map(({ id, callFrame }) => [id, label(callFrame)]));
  const times = new Map<string, number>();
  let total = 0;
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const name = labels.get(id);
    if (name === undefined) continue;
    const microseconds = profile.timeDeltas?.[index] ?? 0;
    times.set(name, (times.get(name) ?? 0) + microseconds);
    total += microseconds;
  }
  return [...times]
    .map(([name, time]) => ({ name, share: total === 0 ? 0 : time / total }))
    .toSorted((one, other) => other.share - one.share);
}

/** Whose work it is: podloop's, a library's, Node's own, or the engine's. */
export function partOf({ functionName, url }: ProfileNode['callFrame']): string {
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (url === '') return 'engine and native code';
  if (url.startsWith('node:'))
    return /http2|net|stream/.test(url) ? 'Node’s HTTP/2, sockets and streams' : 'Node, the rest';
  const library = /.*\/node_modules\/((?:@[^/]+\/)?[^/.][^/]*)\/(?!.*\/node_modules\/)/.exec(url)?.[1];
  if (library !== undefined && !url.includes('/podloop-bench/')) return library;
  return url.includes('/benchmarks/') ? 'the benchmark' : 'podloop';
}

function nameOf({ functionName, url, lineNumber }: ProfileNode['callFrame']): string {
  if (url === '') return functionName === '' ? '(anonymous)' : functionName;
  const file = url.split('/').slice(-2).join('/');
  return `${functionName === '' ? '(anonymous)' : functionName} (${file}:${lineNumber + 1})`;
}
