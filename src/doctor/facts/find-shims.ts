import { type ListedNode } from './event-witness.js';
import { ageOf, isNested } from '../host/process-state.js';
import { type HostFiles } from './host-files.js';
import { known, type Looked, notKnown } from '../looked.js';
import { type AbandonedShimFacts, type ShimFacts } from './machine-facts.js';
import { type SeenProcess } from './process-table.js';

/** A shim of containerd: the process that stands between it and the containers of one pod. */
export interface Shim {
  readonly pid: number;
  readonly command: string;
  readonly sandboxId: string;
  /** The socket of the containerd that it reports to. */
  readonly address: string;
  readonly namespace: string;
  readonly startTicks: string;
}

/** The namespace of containerd in which its CRI plugin keeps pods. */
export const CRI_NAMESPACE = 'k8s.io';
const MAX_NAMED = 10;
/** A kubelet gives the making of a sandbox four minutes, and then the runtime takes back what there is of it. */
const ORPHAN_AGE_MS = 300_000;

/** The shims among processes, without those of a containerd that runs in a container. */
export async function readShims(files: HostFiles, processes: readonly SeenProcess[]): Promise<Shim[]> {
  const shims: Shim[] = [];
  // The kernel keeps fifteen characters of a name.
  for (const { pid, command, startTicks } of processes.filter((each) =>
    each.command.startsWith('containerd-shim'),
  )) {
    const shim = parseShim((await files.findOnce(`/proc/${pid}/cmdline`)) ?? '');
    if (shim !== undefined && !(await isNested(files, pid)))
      shims.push({ pid, command, startTicks, ...shim });
  }
  return shims;
}

/** Reads `containerd-shim-runc-v2 -namespace k8s.io -id SANDBOX -address SOCKET`, words ended by zero bytes. */
export function parseShim(cmdline: string): Pick<Shim, 'sandboxId' | 'address' | 'namespace'> | undefined {
  const words = cmdline.split('\0');
  const after = (flag: string): string | undefined => {
    const at = words.indexOf(flag);
    return at < 0 ? undefined : words[at + 1];
  };
  const [sandboxId, address, namespace] = [after('-id'), after('-address'), after('-namespace')];
  if (sandboxId === undefined || address === undefined || namespace === undefined) return undefined;
  return { sandboxId, address, namespace };
}

/** Shims of before and after whose containerd was gone both times. Pure. */
export function judgeAbandoned(
  before: readonly Shim[],
  after: readonly Shim[],
  dead: { readonly before: ReadonlySet<string>; readonly after: ReadonlySet<string> },
): AbandonedShimFacts {
  const wereThere = new Set(before.map(({ pid }) => pid));
  const isDead = ({ pid, address }: Shim): boolean =>
    wereThere.has(pid) && dead.before.has(address) && dead.after.has(address);
  const abandoned = after.filter(isDead);
  return {
    count: abandoned.length,
    shims: abandoned.slice(0, MAX_NAMED).map(({ pid, command, sandboxId }) => ({ pid, command, sandboxId })),
    addresses: [...new Set(abandoned.map(({ address }) => address))].slice(0, MAX_NAMED),
  };
}

/**
 * Holds shims of before and after a list against it: what was there all the time and is in the list of nobody is an
 * orphan, and a sandbox that is ready has one. A shim is there long before its sandbox is listed, so a young one is
 * never an orphan. Pure.
 *
 * @param own the addresses of the runtime: shims of another containerd are not its business.
 */
export function judgeShims(
  shims: { readonly before: readonly Shim[]; readonly after: readonly Shim[] },
  lists: { readonly first: ListedNode; readonly last: ListedNode },
  own: ReadonlySet<string>,
  uptimeMs: number,
): Looked<ShimFacts> {
  const ofPods = shims.after.filter(({ namespace }) => namespace === CRI_NAMESPACE);
  if (ofPods.length > 0 && !ofPods.some(({ address }) => own.has(address))) {
    return notKnown(
      `the shims that run belong to ${ofPods[0]!.address}, which is not the runtime that was asked`,
    );
  }
  const isOwn = ({ address, namespace }: Shim): boolean => own.has(address) && namespace === CRI_NAMESPACE;
  const after = shims.after.filter(isOwn);
  const wereThere = new Set(shims.before.filter(isOwn).map(({ pid }) => pid));
  const listed = new Set([...lists.first.sandboxes, ...lists.last.sandboxes].map(({ id }) => id));
  const isOld = (shim: Shim): boolean => ageOf(shim, uptimeMs) >= ORPHAN_AGE_MS;
  const orphans = after.filter(
    (shim) => wereThere.has(shim.pid) && isOld(shim) && !listed.has(shim.sandboxId),
  );
  const running = new Set([...shims.before, ...shims.after].map(({ sandboxId }) => sandboxId));
  const readyAtFirst = new Set(lists.first.sandboxes.filter(({ ready }) => ready).map(({ id }) => id));
  // Without any shim to be seen these are sandboxes of another kind, or of another pid namespace.
  const gone =
    after.length === 0
      ? []
      : lists.last.sandboxes.filter(({ id, ready }) => ready && readyAtFirst.has(id) && !running.has(id));
  return known({
    count: after.length,
    orphans: orphans.slice(0, MAX_NAMED).map(({ pid, command, sandboxId }) => ({ pid, command, sandboxId })),
    orphanCount: orphans.length,
    gone: gone.slice(0, MAX_NAMED).map(({ id, pod }) => ({ sandboxId: id, pod })),
    goneCount: gone.length,
  });
}
