import { dirname } from 'node:path';
import { CallPlaces } from '../facts/call-places.js';
import { type Shim } from '../facts/find-shims.js';
import { type HostFiles } from '../facts/host-files.js';
import { inBatches, type SeenProcess } from '../facts/process-table.js';
import { groupBy } from '../group-by.js';
import { askShim, findBundle, type ShimAnswer } from './ask-shim.js';
import { BundleCache } from './bundle-cache.js';
import { type ContainerOwner, type IllShim, MAX_NAMED, type ShimFiles } from './host-facts.js';
import {
  ageOf,
  findFrozenCgroup,
  findPodUidOf,
  isInContainer,
  readOpenFiles,
  readState,
  standsStill,
} from './process-state.js';
import { CpuClocks, readStandstill } from './standstill.js';
import { nameByBundles, readBundle } from './read-bundle.js';

/** Shims that are asked at once, and after how long one that does not answer gives its place to another one. */
const AT_ONCE = 16;
const PLACE_LIMIT_MS = 250;
/** A call of runc that has run for longer is late. */
const CALL_LATE_MS = 10_000;
/** Where a kubelet has what it mounts into each container: its hosts file, its termination log. */
const POD_FOLDER = /\/pods\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})\//;
/** More pods than a node has. */
const MAX_ASKED = 1_000;
/** Shims that are named as those with the most files open. */
const MAX_FULLEST = 3;

/** How a shim took a question. */
interface ShimReply {
  readonly answer: ShimAnswer;
  readonly forMs: number;
  /** Whom it is for: the container that it was silent about, else its sandbox; absent where no bundle says so. */
  readonly owner?: ContainerOwner;
}

/** How each shim took the questions, by its pid. */
export type ShimReplies = ReadonlyMap<number, ShimReply>;

/** Asks every shim at its socket for its sandbox and each container, several at once; those that are silent hold up no other. */
export async function askShims(
  files: HostFiles,
  shims: readonly Shim[],
  cache = new BundleCache(),
): Promise<ShimReplies> {
  const replies = new Map<number, ShimReply>();
  const bundles = new Map<number, string>();
  for (const { pid } of shims.slice(0, MAX_ASKED)) {
    const bundle = await findBundle(files, pid);
    if (bundle !== undefined) bundles.set(pid, bundle);
  }
  // Before they are asked: a runtime that starts takes away the bundle of a shim that does not answer, and ends its containers.
  const known = await cache.list(files, new Set([...bundles.values()].map((bundle) => dirname(bundle))));
  const ofPods = groupBy(known, ({ sandboxId }) => sandboxId);
  const asked = shims.filter(({ pid }) => bundles.has(pid));
  const askOne = async ({ pid, sandboxId }: Shim): Promise<void> => {
    const bundle = bundles.get(pid)!;
    const bundlesOfPod = ofPods.get(sandboxId) ?? [];
    const owner = bundlesOfPod.find(({ id }) => id === sandboxId)?.owner;
    let reply: ShimReply = { ...(await askShim(files, bundle, sandboxId)), ...(owner && { owner }) };
    for (const { id, owner: ofContainer } of bundlesOfPod) {
      if (reply.answer !== 'answers') break;
      if (id === sandboxId) continue;
      const answer = await askShim(files, bundle, id);
      if (answer.answer === 'silent') reply = { ...answer, owner: ofContainer };
    }
    replies.set(pid, reply);
  };
  const places = new CallPlaces({
    ...{ clock: files.clock, atOnce: AT_ONCE, placeLimitMs: PLACE_LIMIT_MS, mostOutside: MAX_ASKED },
  });
  // What rejects was aborted, and so is whoever waits for this.
  for (const shim of asked) await places.send(() => askOne(shim).catch(() => undefined));
  await places.drain();
  return replies;
}

/** The shims that cannot do their work: by their state in both scans, or because they did not answer. */
export async function findIllShims(
  files: HostFiles,
  shims: readonly Shim[],
  scans: { readonly before: readonly SeenProcess[]; readonly after: readonly SeenProcess[] },
  replies: ShimReplies,
  uptimeMs: number,
): Promise<IllShim[]> {
  const [before, after] = [scans.before, scans.after].map(
    (scan) => new Map(scan.map((each) => [each.pid, each])),
  );
  const ill: IllShim[] = [];
  const clocks = new CpuClocks(files);
  for (const shim of shims) {
    const [first, second] = [before!.get(shim.pid), after!.get(shim.pid)];
    if (first === undefined || second === undefined || first.startTicks !== second.startTicks) continue;
    const state = await readState(files, second);
    const { answer, forMs = 0, owner } = replies.get(shim.pid) ?? {};
    const isSilent = answer === 'silent';
    const cgroup = await findFrozenCgroup(files, shim.pid);
    const illness = judgeIllness({
      ...{ isStopped: standsStill(state), isFrozen: cgroup !== undefined, isSilent },
      isBlocked: state.state === 'D' && first.state === 'D',
    });
    if (illness === undefined) continue;
    const helpers = await findHelpers(files, shim, scans.after, uptimeMs);
    const frozen = illness === 'silent' ? await findFrozenBelow(files, shim, scans.after) : cgroup;
    if (illness === 'silent' && frozen === undefined && isAtWork(helpers)) continue;
    const bundle = await findBundle(files, shim.pid);
    const named = owner ?? (bundle === undefined ? {} : await readBundle(files, bundle));
    const podUid = named.pod === undefined ? await findPodUid(files, shim, scans.after) : undefined;
    ill.push({
      ...{ pid: shim.pid, command: shim.command, sandboxId: shim.sandboxId, illness, ...state },
      ...(illness === 'silent' ? {} : await readStandstill(files, shim.pid, { clocks })),
      ...(isSilent && { silentForMs: forMs }),
      ...(frozen === undefined ? {} : { cgroup: frozen }),
      ...named,
      ...(podUid === undefined ? {} : { podUid }),
      helpers,
    });
  }
  return ill;
}

/** The shims that have the largest shares of the files open that they may have. */
export async function findShimFiles(files: HostFiles, shims: readonly Shim[]): Promise<ShimFiles[]> {
  const counted = await inBatches(shims.slice(0, MAX_ASKED), async ({ pid, command }) => ({
    pid,
    command,
    openFiles: await readOpenFiles(files, pid),
  }));
  const shareOf = ({ openFiles: { used, limit } }: Pick<ShimFiles, 'openFiles'>): number => used / limit;
  const fullest = counted
    .filter(({ openFiles }) => openFiles.limit > 0)
    .sort((a, b) => shareOf(b) - shareOf(a))
    .slice(0, MAX_FULLEST);
  return await nameByBundles(files, fullest);
}

/** Whether a shim has a call under way, and nothing that lasts: it does not answer before that call ends. */
function isAtWork(helpers: IllShim['helpers']): boolean {
  return helpers.length > 0 && helpers.every(({ forMs }) => forMs < CALL_LATE_MS);
}

/** The cgroup with which a child of a shim is frozen: what is done in that container waits, and the shim with it. */
async function findFrozenBelow(
  files: HostFiles,
  { pid }: Shim,
  processes: readonly SeenProcess[],
): Promise<string | undefined> {
  for (const child of processes.filter(({ parent }) => parent === pid)) {
    const cgroup = await findFrozenCgroup(files, child.pid);
    if (cgroup !== undefined) return cgroup;
  }
  return undefined;
}

/** The uid of a shim's pod, as the cgroups of its processes have it, or what is mounted for them. */
async function findPodUid(
  files: HostFiles,
  { pid }: Shim,
  processes: readonly SeenProcess[],
): Promise<string | undefined> {
  for (const child of processes.filter(({ parent }) => parent === pid)) {
    const uid =
      findPodUidOf((await files.find(`/proc/${child.pid}/cgroup`)) ?? '') ??
      POD_FOLDER.exec((await files.find(`/proc/${child.pid}/mountinfo`)) ?? '')?.[1];
    if (uid !== undefined) return uid;
  }
  return undefined;
}

/** Children of a shim that are in no container. */
async function findHelpers(
  files: HostFiles,
  { pid }: Shim,
  processes: readonly SeenProcess[],
  uptimeMs: number,
): Promise<IllShim['helpers']> {
  const helpers: IllShim['helpers'][number][] = [];
  for (const child of processes.filter(({ parent }) => parent === pid)) {
    if (await isInContainer(files, child)) continue;
    const { pid: own, command } = child;
    helpers.push({ pid: own, command, ...(await readState(files, child)), forMs: ageOf(child, uptimeMs) });
  }
  return helpers.slice(0, MAX_NAMED);
}

function judgeIllness(shim: {
  readonly isStopped: boolean;
  readonly isFrozen: boolean;
  readonly isBlocked: boolean;
  readonly isSilent: boolean;
}): IllShim['illness'] | undefined {
  if (shim.isStopped) return 'stopped';
  if (shim.isFrozen) return 'frozen';
  if (shim.isBlocked) return 'blocked';
  return shim.isSilent ? 'silent' : undefined;
}
