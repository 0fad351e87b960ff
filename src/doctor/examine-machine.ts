import { type Clock } from '#base/time/clock.js';
import { type BlockedThread, findStillBlocked, readBlocked } from './facts/blocked-threads.js';
import { type RuntimeExamination } from './examine-runtime.js';
import { findPlugins } from './facts/find-plugins.js';
import { CRI_NAMESPACE, judgeAbandoned, judgeShims, readShims, type Shim } from './facts/find-shims.js';
import { assertAllowed, type HostFiles } from './facts/host-files.js';
import { ask, known, type Looked, notKnown } from './looked.js';
import { type MachineFacts, type ShimFacts } from './facts/machine-facts.js';
import { type DiskLook, type DiskPath, measureDisks, measureFsync } from './facts/measure-disks.js';
import { readProcesses, type SeenProcess } from './facts/process-table.js';
import { summarizeProcesses } from './summarize-processes.js';
import { readLoad, readMemory } from './facts/read-load.js';
import { findPressure, type PressureReading, readPressure } from './facts/read-pressure.js';
import { askMounts, describeDeadMounts } from './host/dead-mounts.js';
import { findBundle } from './host/ask-shim.js';
import { type BundleCache } from './host/bundle-cache.js';
import { findFailedFileSystems } from './host/failed-file-systems.js';
import {
  type DaemonFacts,
  MAX_NAMED,
  type OciCall,
  type RuntimeWork,
  type SystemdFacts,
} from './host/host-facts.js';
import { readKernelLog } from './host/kernel-log.js';
import { OciCallSampler } from './host/oci-call-sampler.js';
import { findCrioCallers, findOciCalls } from './host/oci-calls.js';
import { isOfNoPod, nameByBundles } from './host/read-bundle.js';
import { ProcessOwners } from './host/process-owners.js';
import { readUptimeMs } from './host/process-state.js';
import { type DaemonAddresses, readDaemons, sinceFirst } from './host/read-daemons.js';
import { readInotify } from './host/read-inotify.js';
import { readUnits } from './host/read-units.js';
import { askShims, findIllShims, findShimFiles, type ShimReplies } from './host/shim-health.js';
import { findDeadAddresses, findSameSocket } from './facts/shim-addresses.js';

/** The usual places, for where the runtime does not say where its images are: of containerd, CRI-O, k3s and rke2, k0s. */
const USUAL_IMAGES = [
  ...['/var/lib/containerd', '/var/lib/containers/storage', '/var/lib/rancher'],
  ...['/var/lib/k0s/containerd'],
];
const OTHER_DISKS: readonly DiskPath[] = [
  { path: '/var/lib/kubelet', purpose: 'the kubelet’s folder', mustBeWritten: true },
  { path: '/var/lib/podloop', purpose: 'podloop’s folder', mustBeWritten: true },
  { path: '/var/log', purpose: 'logs' },
  { path: '/run', purpose: 'sockets and state', mustBeWritten: true },
  { path: '/', purpose: 'the root' },
];

/** Calls of the OCI runtime that have ended and are judged; more pods rarely start at once. */
const MAX_ENDED = 200;

/** What runs at one time. */
interface ProcessScan {
  readonly processes: readonly SeenProcess[];
  readonly shims: readonly Shim[];
  /** Of the containerds that these shims belong to, where nobody listens. */
  readonly deadAddresses: ReadonlySet<string>;
}

type FirstScan = ProcessScan & { readonly blocked: readonly BlockedThread[] };

/** Examines the machine at the begin of an examination and at its end. */
export class MachineExaminer {
  readonly #files: HostFiles;
  readonly #mayWrite: boolean;
  readonly #addresses: DaemonAddresses;
  readonly #bundles: BundleCache | undefined;
  #daemons: DaemonFacts = {};
  #mounts: Promise<Looked<Awaited<ReturnType<typeof askMounts>>>> = Promise.resolve(
    notKnown('it was not examined'),
  );
  #systemd: Promise<Looked<SystemdFacts>> = Promise.resolve(notKnown('it was not examined'));
  #first: Looked<FirstScan> = notKnown('it was not examined');
  #answers: Promise<ShimReplies> = Promise.resolve(new Map());
  /** Those of the examined runtime: a machine may have several. */
  #ownShims: readonly Shim[] = [];
  #calls: readonly OciCall[] = [];
  readonly #sampler: OciCallSampler;
  #pressure: PressureReading | undefined;
  readonly #signal: AbortSignal;

  constructor(options: {
    readonly files: HostFiles;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly mayWrite: boolean;
    readonly addresses: DaemonAddresses;
    readonly bundles?: BundleCache | undefined;
  }) {
    this.#addresses = options.addresses;
    this.#bundles = options.bundles;
    this.#files = options.files;
    this.#mayWrite = options.mayWrite;
    this.#signal = options.signal;
    const { socketPath } = options.addresses;
    this.#sampler = new OciCallSampler({ files: options.files, clock: options.clock, socketPath });
  }

  /** The first reading, to compare the second with. */
  async begin(): Promise<void> {
    const [files, signal] = [this.#files, this.#signal];
    this.#pressure = await findPressure(files);
    this.#systemd = ask(() => readUnits({ files, signal }));
    this.#first = await ask(async () => {
      const scan = await this.#scanProcesses();
      return { ...scan, blocked: await readBlocked(this.#files, scan.processes) };
    });
    if (!this.#first.known) return;
    this.#daemons = await readDaemons(this.#files, this.#first.value.processes, this.#addresses).catch(
      () => ({}),
    );
    const { processes, shims } = this.#first.value;
    this.#mounts = ask(() => askMounts(this.#files, processes));
    const own = await findSameSocket(this.#files, this.#addresses.socketPath, addressesOf(shims));
    const ownShims = shims.filter((shim) => isOfCri(shim) && own.has(shim.address));
    this.#ownShims = ownShims;
    this.#calls = await findOciCalls(
      this.#files,
      processes,
      [...ownShims, ...findCrioCallers(processes)],
      await readUptimeMs(this.#files),
    );
    this.#sampler.begin(processes, this.#signal);
    // The answers come while the runtime is examined.
    this.#answers = askShims(this.#files, ownShims, this.#bundles).catch(() => new Map());
  }

  async end(examination: RuntimeExamination): Promise<MachineFacts> {
    const files = this.#files;
    // A shim that does not answer is judged by what is below it then.
    await this.#answers;
    this.#calls = [...this.#calls, ...(await this.#sampler.end())];
    const { imageFilesystems } = examination;
    const images = imageFilesystems.known
      ? imageFilesystems.value.map(({ mountpoint }) => mountpoint).filter((path) => path.startsWith('/'))
      : [];
    const folders = images.length === 0 ? USUAL_IMAGES : images;
    const disks: DiskPath[] = folders.map((path) => ({
      ...{ path, purpose: 'images and containers', holdsImages: true },
    }));
    const measured = await measureDisks(files, [...disks, ...OTHER_DISKS, ...(await this.#findStateDisk())]);
    // While the rest is read.
    const fsync = this.#mayWrite
      ? measureFsyncOf(files, measured, folders[0]!)
      : Promise.resolve(notKnown('writing is switched off'));
    return {
      pressure: await readPressure(files, this.#pressure),
      load: await readLoad(files),
      kernelLog: await ask(() => readKernelLog(files)),
      memory: await readMemory(files),
      systemd: await this.#systemd,
      ...(await this.#compareProcesses(examination)),
      ...measured,
      fsync: await fsync,
    };
  }

  /** Where the runtime has the bundles of its containers: on most machines below /run, and asked for once then. */
  async #findStateDisk(): Promise<DiskPath[]> {
    for (const { pid } of this.#ownShims) {
      const bundle = await findBundle(this.#files, pid);
      const at = bundle?.indexOf('/io.containerd.runtime.') ?? -1;
      if (at > 0)
        return [
          { path: bundle!.slice(0, at), purpose: 'the runtime’s sockets and state', mustBeWritten: true },
        ];
    }
    return [];
  }

  async #scanProcesses(): Promise<ProcessScan> {
    const processes = await readProcesses(this.#files);
    const shims = await readShims(this.#files, processes);
    return { processes, shims, deadAddresses: await findDeadAddresses(this.#files, addressesOf(shims)) };
  }

  async #compareProcesses({
    facts: runtime,
    firstLists,
    lastLists,
  }: RuntimeExamination): Promise<
    Pick<
      MachineFacts,
      | 'processes'
      | 'shims'
      | 'abandonedShims'
      | 'plugins'
      | 'runtimeWork'
      | 'daemons'
      | 'deadMounts'
      | 'failedFileSystems'
      | 'inotify'
    >
  > {
    const files = this.#files;
    const [first, second] = [this.#first, await ask(() => this.#scanProcesses())];
    if (!first.known || !second.known) {
      const nothing = notKnown('/proc cannot be read');
      return {
        ...{ processes: nothing, shims: nothing, abandonedShims: nothing, plugins: nothing },
        ...{ runtimeWork: nothing, daemons: nothing, deadMounts: nothing, failedFileSystems: nothing },
        inotify: nothing,
      };
    }
    const { processes: before, blocked } = first.value;
    const { processes: after } = second.value;
    const owners = new ProcessOwners(files, after);
    const shims = { before: first.value.shims, after: second.value.shims };
    const socketPath = runtime.endpoint.replace(/^unix:\/\//, '');
    const own = await findSameSocket(files, socketPath, addressesOf([...shims.before, ...shims.after]));
    const judged =
      firstLists === undefined || lastLists === undefined
        ? notKnown('the pods could not be listed')
        : judgeShims(shims, { first: firstLists, last: lastLists }, own, await readUptimeMs(files));
    const abandoned = judgeAbandoned(shims.before, shims.after, {
      ...{ before: first.value.deadAddresses, after: second.value.deadAddresses },
    });
    return {
      processes: await ask(async () =>
        summarizeProcesses(files, { before, after }, await findStillBlocked(files, blocked), owners),
      ),
      shims: judged.known ? known({ ...judged.value, ...(await nameOrphans(files, judged.value)) }) : judged,
      abandonedShims: known({ ...abandoned, shims: await nameByBundles(files, abandoned.shims) }),
      plugins: await ask(() => findPlugins(files, before, after)),
      deadMounts: await this.#describeMounts(after, owners),
      failedFileSystems: await ask(() => findFailedFileSystems(files, owners)),
      inotify: await ask(() => readInotify(files, owners)),
      daemons: await ask(() => this.#compareDaemons(after)),
      runtimeWork: await ask(() =>
        this.#findWork(
          { before, after },
          shims.after.filter((shim) => isOfCri(shim) && own.has(shim.address)),
          hasUnseenShims(runtime, lastLists, shims),
        ),
      ),
    };
  }

  async #describeMounts(
    processes: readonly SeenProcess[],
    owners: ProcessOwners,
  ): Promise<MachineFacts['deadMounts']> {
    const dead = await this.#mounts;
    if (!dead.known) return dead;
    return await ask(() => describeDeadMounts(this.#files, dead.value, processes, owners));
  }

  async #compareDaemons(processes: readonly SeenProcess[]): Promise<DaemonFacts> {
    const { runtime, kubelet, ...rest } = await readDaemons(this.#files, processes, this.#addresses);
    // One that listens by now did not when the runtime was asked.
    const { startingRuntime } = this.#daemons;
    return {
      ...(startingRuntime && { startingRuntime }),
      ...rest,
      ...(runtime && { runtime: sinceFirst(this.#daemons.runtime, runtime) }),
      ...(kubelet && { kubelet: sinceFirst(this.#daemons.kubelet, kubelet) }),
    };
  }

  async #findWork(
    scans: { readonly before: readonly SeenProcess[]; readonly after: readonly SeenProcess[] },
    shims: readonly Shim[],
    areUnseen: boolean,
  ): Promise<RuntimeWork> {
    const files = this.#files;
    if (areUnseen)
      throw new Error('no shim is seen: /proc is that of a container, or hides the processes of others');
    const answers = await this.#answers;
    const uptimeMs = await readUptimeMs(files);
    const ill = await findIllShims(files, shims, scans, answers, uptimeMs);
    // Their folders say where they listen and whose they are.
    if (shims[0] !== undefined && ill.length === 0)
      await assertAllowed(files.readLink(`/proc/${shims[0].pid}/cwd`));
    const callers = [...shims, ...findCrioCallers(scans.after)];
    const calls = await findOciCalls(files, scans.after, callers, uptimeMs);
    const running = new Set(calls.map(({ pid }) => pid));
    // Of a call that was seen more than once, the last time counts.
    const seen = new Map(this.#calls.map((call) => [`${call.pid} ${call.containerId}`, call]));
    const ended = [...seen.values()]
      .filter((call) => !running.has(call.pid))
      .sort((a, b) => b.forMs - a.forMs);
    return {
      ...{ calls: calls.slice(0, MAX_NAMED), callCount: calls.length },
      ...{ endedCalls: ended.slice(0, MAX_ENDED), endedCallCount: ended.length },
      ...{ illShims: ill.slice(0, MAX_NAMED), illShimCount: ill.length, asked: answers.size },
      shimFiles: await findShimFiles(files, shims),
    };
  }
}

/** Shims for pods that nobody lists, with the names of these pods, without those that were never for a pod. */
async function nameOrphans(
  files: HostFiles,
  { orphans, orphanCount }: ShimFacts,
): Promise<Pick<ShimFacts, 'orphans' | 'orphanCount'>> {
  const foreign = await Promise.all(orphans.map(async (shim) => isOfNoPod(files, shim)));
  const ofPods = orphans.filter((_, at) => foreign[at] === false);
  return {
    orphans: await nameByBundles(files, ofPods),
    orphanCount: ofPods.length === 0 ? 0 : orphanCount - (orphans.length - ofPods.length),
  };
}

/** Measures the disk of the images, unless it has shown already that it does not answer. */
async function measureFsyncOf(
  files: HostFiles,
  { disks, silentDisks }: DiskLook,
  usual: string,
): Promise<MachineFacts['fsync']> {
  const written = disks.find(({ holdsImages }) => holdsImages)?.path ?? usual;
  if (silentDisks.some(({ path }) => path === written)) return notKnown(`${written} does not answer`);
  return await measureFsync(files, written, files.clock);
}

/** Whether a containerd has pods that run, each of which has a shim, and none of these can be seen. */
function hasUnseenShims(
  { name }: RuntimeExamination['facts'],
  lists: RuntimeExamination['lastLists'],
  shims: { readonly before: readonly Shim[]; readonly after: readonly Shim[] },
): boolean {
  if (name !== 'containerd' || shims.before.length + shims.after.length > 0) return false;
  return lists?.sandboxes.some(({ ready }) => ready) === true;
}

const isOfCri = ({ namespace }: Shim): boolean => namespace === CRI_NAMESPACE;

function addressesOf(shims: readonly Shim[]): ReadonlySet<string> {
  return new Set(shims.map(({ address }) => address));
}
