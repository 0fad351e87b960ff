import { type SandboxStatus } from '#watch';
import { GroupLimits } from '../../../src/node/resources/cgroups/group-limits.js';
import { MemoryProtection } from '../../../src/node/resources/cgroups/memory-protection.js';
import { GroupTrees } from '../../../src/node/resources/cgroups/group-trees.js';
import { SliceLimits } from '../../../src/node/resources/cgroups/slice-limits.js';
import { PodCgroups, type PodCgroupsOptions } from '../../../src/node/resources/cgroups/pod-cgroups.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type CgroupDriver, toCgroupNames } from '../../../src/node/runtime/config/pod-cgroup-names.js';
import { type CleanupView } from '../../../src/node/pods/loop/housekeeping.js';
import { PodloopError } from '#base/errors/errors.js';
import { type CgroupVersions, FolderCgroups } from '../fakes/folder-cgroups.js';
import { LogRecorder } from '../fakes/log-recorder.js';
import { aSpecContainer, aSpecPod } from '../builders/node-pods.js';

/** A signal that never aborts. */
export const NEVER: AbortSignal = new AbortController().signal;

/** A pod whose container asks for that much cpu, or for nothing. */
export const podThatAsksFor = (uid: string, cpu?: string): NodePod =>
  aSpecPod(cpu === undefined ? {} : { containers: [aSpecContainer({ resources: { requests: { cpu } } })] }, {
    uid,
  });
/** A running sandbox with these annotations. */
export const sandboxWith = (annotations: Record<string, string>): SandboxStatus => ({
  ...{ id: 's1', name: 'web', attempt: 0, state: 'running', createdAtNs: 0n, ips: [], labels: {} },
  ...{ annotations, runtimeHandler: '', hostNetwork: false },
});

/** What {@link PodCgroupsHarnesses} makes. */
export type PodCgroupsHarness = Awaited<ReturnType<typeof makePodCgroups>>;

/** The cgroups of pods in trees made of folders. */
async function makePodCgroups(
  versions: CgroupVersions,
  options: Partial<PodCgroupsOptions> = {},
  isMemoryReserved = false,
) {
  const trees = await FolderCgroups.make(versions);
  const logger = new LogRecorder();
  const bench = {
    ...{ allTogether: [] as string[], slices: [] as string[] },
    ...{ driver: 'cgroupfs' as CgroupDriver, conflict: undefined as string | undefined },
    ...{ podSlices: [] as string[], sliceError: undefined as Error | undefined },
    ...{ stopped: [] as string[], wanted: new Set<string>() },
  };
  const open = (more: Partial<PodCgroupsOptions> = {}): PodCgroups =>
    new PodCgroups({
      ...{ enabled: true, ownRoot: toCgroupNames('podloop/ab'), root: undefined, logger },
      driver: {
        get driver() {
          return bench.driver;
        },
        get conflict() {
          return bench.conflict;
        },
        source: 'default',
        throwIfInConflict: () => {
          if (bench.conflict !== undefined) throw new PodloopError('CGROUP_DRIVER_CONFLICT', bench.conflict);
        },
        learn: () => Promise.resolve(true),
      },
      trees: new GroupTrees(trees.mountinfo, trees),
      limits: new GroupLimits(trees.mountinfo, trees),
      slices: new SliceLimits({
        limits: new GroupLimits(trees.mountinfo, trees),
        trees: new GroupTrees(trees.mountinfo, trees),
        setSlice: (slice, properties) => {
          if (bench.sliceError !== undefined) return Promise.reject(bench.sliceError);
          bench.podSlices.push([slice, ...properties].join(' '));
          return Promise.resolve();
        },
      }),
      allocatable: {
        limitPods: (path, above) => {
          bench.allTogether.push([...above, path].join(' '));
          return Promise.resolve();
        },
        forget: (path) => {
          bench.allTogether.push(`forget ${path}`);
          return Promise.resolve();
        },
      },
      reserve: { note: () => undefined, forget: () => undefined, settle: () => Promise.resolve() },
      protection: new MemoryProtection({
        limits: new GroupLimits(trees.mountinfo, trees),
        isReserved: isMemoryReserved,
        setSlice: (slice, properties) => {
          bench.slices.push([slice, ...properties].join(' '));
          return Promise.resolve();
        },
        logger,
      }),
      ...{ cpuCfsQuota: true, cpuCfsPeriodUs: 100_000, podPidsLimit: -1 },
      stopSlice: (slice) => {
        bench.stopped.push(slice);
        return Promise.resolve();
      },
      readParent: () => Promise.resolve('/told-by-the-runtime'),
      ownUids: () => [],
      ...options,
      ...more,
    });
  const cgroups = open();
  const view: CleanupView = {
    get desiredUids() {
      return bench.wanted;
    },
    possiblyRunningUids: new Set(),
    mayRemove: (uid) => !bench.wanted.has(uid),
  };
  const prepare = (pod: NodePod): Promise<string> => {
    bench.wanted.add(pod.metadata.uid);
    return cgroups.prepare(pod);
  };
  return Object.assign(bench, {
    trees,
    cgroups,
    open,
    logger,
    prepare,
    cleanUp: () => cgroups.cleanUp(view, NEVER),
  });
}

/** Makes benches for a test file, which disposes of them after each test. */
export class PodCgroupsHarnesses implements AsyncDisposable {
  readonly #trees: FolderCgroups[] = [];

  readonly make = async (
    versions: CgroupVersions,
    options: Partial<PodCgroupsOptions> = {},
    isMemoryReserved = false,
  ): Promise<PodCgroupsHarness> => {
    const bench = await makePodCgroups(versions, options, isMemoryReserved);
    this.#trees.push(bench.trees);
    return bench;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    for (const trees of this.#trees.splice(0)) await trees[Symbol.asyncDispose]();
  }
}
