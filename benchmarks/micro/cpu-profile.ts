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
/** Waiting is no work. */
const NOT_WORK = new Set(['(idle)', '(root)']);

/** Runs something under the engine's profiler: where its time on the main thread went, the largest share first. */
export async function profileCpu(run: () => Promise<unknown>): Promise<ProfiledFunction[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US });
    await session.post('Profiler.start');
    await run();
    const { profile } = await session.post('Profiler.stop');
    return sharesOf(profile);
  } finally {
    session.disconnect();
  }
}

/** The share of each function in the samples of a profile. */
export function sharesOf(profile: {
  readonly nodes: readonly ProfileNode[];
  readonly samples?: readonly number[];
  readonly timeDeltas?: readonly number[];
}): ProfiledFunction[] {
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  let total = 0;
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const name = names.get(id) ?? '(unknown)';
    if (NOT_WORK.has(name)) continue;
    const microseconds = profile.timeDeltas?.[index] ?? 0;
    times.set(name, (times.get(name) ?? 0) + microseconds);
    total += microseconds;
  }
  return [...times]
    .map(([name, time]) => ({ name, share: total === 0 ? 0 : time / total }))
    .toSorted((one, other) => other.share - one.share);
}

function nameOf({ functionName, url, lineNumber }: ProfileNode['callFrame']): string {
  if (url === '') return functionName === '' ? '(anonymous)' : functionName;
  const file = url.split('/').slice(-2).join('/');
  return `${functionName === '' ? '(anonymous)' : functionName} (${file}:${lineNumber + 1})`;
}
