import { type Shim } from '../facts/find-shims.js';
import { type HostFiles } from '../facts/host-files.js';
import { type SeenProcess } from '../facts/process-table.js';
import { askShim, findBundle, type ShimAnswer } from './ask-shim.js';
import { type IllShim } from './host-facts.js';
import { findFrozenCgroup, isStopped, readState } from './process-state.js';
import { readBundle } from './read-bundle.js';

/** Questions that are under way at once. */
const AT_ONCE = 16;
/** More pods than a node has. */
const MAX_ASKED = 1_000;

/** How each shim took a question, by its pid. */
export type ShimAnswers = ReadonlyMap<number, { readonly answer: ShimAnswer; readonly forMs: number }>;

/** Asks every shim at its socket, several at once. */
export async function askShims(files: HostFiles, shims: readonly Shim[]): Promise<ShimAnswers> {
  const answers = new Map<number, { readonly answer: ShimAnswer; readonly forMs: number }>();
  const waiting = shims.slice(0, MAX_ASKED);
  const worker = async (): Promise<void> => {
    for (let shim = waiting.pop(); shim !== undefined; shim = waiting.pop()) {
      const bundle = await findBundle(files, shim.pid);
      if (bundle !== undefined) answers.set(shim.pid, await askShim(files, bundle, shim.sandboxId));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return answers;
}

/** The shims that cannot do their work: by their state in both scans, or because they did not answer. */
export async function findIllShims(
  files: HostFiles,
  shims: readonly Shim[],
  scans: { readonly before: readonly SeenProcess[]; readonly after: readonly SeenProcess[] },
  answers: ShimAnswers,
): Promise<IllShim[]> {
  const [before, after] = [scans.before, scans.after].map(
    (scan) => new Map(scan.map((each) => [each.pid, each])),
  );
  const ill: IllShim[] = [];
  for (const shim of shims) {
    const [first, second] = [before!.get(shim.pid), after!.get(shim.pid)];
    if (first === undefined || second === undefined || first.startTicks !== second.startTicks) continue;
    const state = await readState(files, second);
    const { answer, forMs = 0 } = answers.get(shim.pid) ?? {};
    const isSilent = answer === 'silent';
    const cgroup = await findFrozenCgroup(files, shim.pid);
    const illness = judgeIllness({
      ...{ state: state.state, isFrozen: cgroup !== undefined, wasBlocked: first.state === 'D', isSilent },
    });
    if (illness === undefined) continue;
    const bundle = await findBundle(files, shim.pid);
    ill.push({
      ...{ pid: shim.pid, command: shim.command, sandboxId: shim.sandboxId, illness, ...state },
      ...(isSilent && { silentForMs: forMs }),
      ...(cgroup === undefined ? {} : { cgroup }),
      ...(bundle === undefined ? {} : await readBundle(files, bundle)),
    });
  }
  return ill;
}

function judgeIllness(shim: {
  readonly state: string;
  readonly isFrozen: boolean;
  readonly wasBlocked: boolean;
  readonly isSilent: boolean;
}): IllShim['illness'] | undefined {
  if (isStopped(shim)) return 'stopped';
  if (shim.isFrozen) return 'frozen';
  if (shim.state === 'D' && shim.wasBlocked) return 'blocked';
  return shim.isSilent ? 'silent' : undefined;
}
