import { type Publisher } from '#base/channels/publishing-channel.js';
import { dirname } from 'node:path';
import { type CriClient, CriPodUsage, type PodCache, type PodPaths } from '#watch';
import { PAGE_DEADLINE_MS } from '../node/node-pages.js';
import { renderCadvisorPage } from '../../resources/stats/cadvisor-page.js';
import { readSubjects } from '../../resources/stats/cadvisor-subjects.js';
import { ContainerGroups, readableCgroups } from '../../resources/stats/container-groups.js';
import { readMachineFacts } from '../../resources/stats/machine-stats.js';
import { buildPodFiles } from '../../parts/build-pod-files.js';
import { type ClaimUsages } from '../../resources/stats/claim-usages.js';
import { CpuWindows } from '../../resources/stats/cpu-windows.js';
import { diskAt, imageDisks } from '../../resources/stats/disk-usages.js';
import { readNodeUsage } from '../../resources/stats/node-usage.js';
import { renderResourcePage } from '../../resources/stats/resource-page.js';
import { renderPods, renderSummaryPage } from '../../resources/stats/summary-page.js';
import { Cached } from '#base/async/cached.js';
import { measurePodDisk, PodDisks } from '../../resources/stats/pod-disks.js';
import { UsageLooks } from '../../resources/stats/usage-looks.js';
import { VolumeUsages } from '../../resources/stats/volume-usages.js';
import { KERNEL_CGROUPS } from '#base/proc/cgroups/cgroup-io.js';
import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { readOwnMountinfo } from '#base/proc/mountinfo.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { withinTime } from '#base/async/within-time.js';
import { countInodes, measureFolder } from '../../volumes/measure-folder.js';
import { VolumePaths } from '../../volumes/volume-paths.js';

/** What {@link buildUsagePages} needs. */
export interface UsagePagesOptions extends Publisher {
  readonly client: CriClient;
  readonly cache: Pick<PodCache, 'getLastKnown'>;
  readonly nodeName: string;
  readonly paths: PodPaths;
  readonly claimUsages: Pick<ClaimUsages, 'ofPod'>;
  /** How often volumes are measured at most, in milliseconds; not above 0: never. */
  readonly statsPeriodMs: number;
  /** Ends work in the background. */
  readonly ending: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The pages about the usage of the node and its pods. */
export interface UsagePages {
  resource(signal: AbortSignal): Promise<readonly Uint8Array[]>;
  cadvisor(signal: AbortSignal): Promise<readonly Uint8Array[]>;
  summary(signal: AbortSignal): Promise<string>;
}

/** Prometheus waits ten seconds by default: a page without pods has to be there before. */
const CALL_TIMEOUT_MS = 8_000;
/** For all calls of one request: slightly longer, so that the call itself reports its timeout. */
const CALLS_TIMEOUT_MS = 8_500;
/** For the sizes of the node's own disks. */
const DISKS_TIMEOUT_MS = 3_000;
/** While the runtime does not answer, its last numbers are shown for so long, with their time. */
const KEEP_PODS_MS = 120_000;
/** With hundreds of pods, cAdvisor's page costs a good part of a second of CPU time, and has megabytes. */
const KEEP_CADVISOR_MS = 1_000;

/** Builds the pages about usage, which share the answers of the runtime. */
export function buildUsagePages(options: UsagePagesOptions): UsagePages {
  const { client, cache, nodeName, paths, claimUsages, statsPeriodMs, ending, clock, logger } = options;
  const usage = new CriPodUsage({ client, timeoutMs: CALL_TIMEOUT_MS });
  const ask = async <T>(signal: AbortSignal, question: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const late = (): Error =>
      new PodloopError('CRI_DEADLINE_EXCEEDED', `no answer within ${CALLS_TIMEOUT_MS / 1_000}s`);
    return await withinTime({ clock, signal, late, limitMs: CALLS_TIMEOUT_MS }, question);
  };
  const looks = new UsageLooks({
    ...{ clock, logger, readNode: readNodeUsage },
    listPods: () => ask(ending, (signal) => usage.listPods(signal)),
    statusOf: (uid) => cache.getLastKnown(uid),
  });
  const machine = readMachineFacts();
  const cgroups = readOwnMountinfo()
    .catch(() => '')
    .then((mountinfo) => {
      const layout = readableCgroups(mountinfo, KERNEL_CGROUPS);
      return { layout, groups: new ContainerGroups({ layout, clock }) };
    });
  const windows = new CpuWindows({ clock });
  const volumePaths = new VolumePaths(paths.podsDir);
  const volumes = new VolumeUsages({
    ...{ clock, signal: ending, periodMs: statsPeriodMs },
    countInodes: async (path, signal) => countInodes(path, signal, options.channels),
    measureFolder: async (path, signal) => measureFolder(path, signal, options.channels),
    volumesDir: (uid) => volumePaths.volumesFolder(uid),
  });
  const files = buildPodFiles({ client, paths, ending });
  const disks = new PodDisks({
    clock,
    measure: async (pod) =>
      measurePodDisk(pod, {
        logsDir: paths.podLogsDir,
        volumesOf: async (uid) => [...(await volumes.find(uid)), ...claimUsages.ofPod(uid)],
        filesOf: async (each) => files.measure(each),
      }),
  });
  let lastPods: { readonly atMs: number; readonly texts: readonly string[] } | undefined;
  const startedAtMs = clock.now() - process.uptime() * 1_000;
  const cadvisor = new Cached({
    ...{ clock, freshMs: KEEP_CADVISOR_MS, deadlineMs: PAGE_DEADLINE_MS },
    read: async (signal) => {
      // In parallel, so that a hanging runtime costs its deadline once.
      const [look, runtimeMetrics] = await Promise.all([
        looks.look(signal),
        ask(signal, (asking) => usage.listMetrics(asking)).catch(() => undefined),
      ]);
      signal.throwIfAborted();
      const subjects = await readSubjects(look, { ...(await cgroups), clock }, signal);
      return await renderCadvisorPage({ look, subjects, runtimeMetrics, machine: await machine }, signal);
    },
  });
  return {
    resource: async (signal) => renderResourcePage(await looks.look(signal)),
    cadvisor: (signal) => cadvisor.get(signal),
    summary: async (signal) => {
      const [look, filesystems] = await Promise.all([
        looks.look(signal),
        ask(signal, (asking) => usage.imageFilesystems(asking)).catch(() => undefined),
      ]);
      signal.throwIfAborted();
      const { atMs } = look;
      const inTime = async <T>(disk: Promise<T>): Promise<T | undefined> =>
        (await settlesWithin(disk, DISKS_TIMEOUT_MS, clock)) ? disk.catch(() => undefined) : undefined;
      const [rootDisk, logDisk, imageUse] = await Promise.all([
        inTime(diskAt(dirname(paths.podsDir), atMs)),
        inTime(diskAt(paths.podLogsDir, atMs)),
        filesystems && inTime(imageDisks(filesystems, atMs)),
      ]);
      const scene = {
        ...{ look, nodeName, rootDisk, logDisk, windows },
        ...{ imageDisk: imageUse?.images, containerDisk: imageUse?.containers },
      };
      // A failed snapshot has no pods; their numbers are still known, and their volumes took minutes to count.
      if (look.problem === undefined) {
        volumes.keepOnly(look.pods.map(({ uid }) => uid));
        const podDisks = await disks.measure(look.pods, signal);
        lastPods = { atMs, texts: await renderPods({ ...scene, podDisks }, signal) };
      }
      const isRecent = lastPods !== undefined && atMs - lastPods.atMs < KEEP_PODS_MS;
      const { user, system } = process.cpuUsage();
      const agent = { startedAtMs, cpuNs: (user + system) * 1_000, residentBytes: process.memoryUsage.rss() };
      return renderSummaryPage({ ...scene, agent }, isRecent ? lastPods!.texts : []);
    },
  };
}
