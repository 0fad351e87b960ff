/**
 * The doctor: finds out what is wrong with a node, and says it in words.
 *
 * In: ports to a container runtime and to podloop's own agent, the files of the machine, a kubelet's address. Out:
 * {@link NodeFacts}, from which {@link diagnose} makes findings.
 *
 * ```
 * runtime ─► examine-runtime ─┐
 * /proc, disks ─► read-…      ├─► NodeFacts ─► rules (pure) ─► findings, worst first
 * kubelet, agent ─► examine-… ┘
 * ```
 *
 * It assumes that everything it asks may hang, be gone or be forbidden: each question has a deadline, and what has no
 * answer is "not known" and never an error. It changes nothing, but for a file without a name that it writes to measure
 * the disk, and takes no event from anybody.
 *
 * @module
 */
import { type PlegReport } from '../model/pleg-report.js';
import { type Clock } from '../util/clock.js';
import { messageOf } from '../util/errors.js';
import {
  type EventReading,
  examineRuntime,
  type RuntimeExamination,
  type RuntimeProgress,
} from './examine-runtime.js';
import { type KubeletAddresses, KubeletExaminer } from './examine-kubelet.js';
import { judgeShims, readShims, type Shim } from './find-shims.js';
import { HostFiles } from './host-files.js';
import { known, type Looked, notKnown } from './looked.js';
import { type MachineFacts } from './machine-facts.js';
import { type DiskPath, measureDisks, measureFsync } from './measure-disks.js';
import { type NodeFacts } from './node-facts.js';
import { readProcesses, type SeenProcess, summarizeProcesses } from './process-table.js';
import { readCertificates } from './read-certificates.js';
import { readLoad, readMemory } from './read-load.js';
import { readPressure } from './read-pressure.js';
import { type RuntimePort } from './runtime-port.js';

/** What {@link examineNode} works with. */
export interface ExamineNodeOptions {
  readonly runtime: RuntimePort;
  /** What podloop's own agent says; rejects where there is none. */
  readonly readAgent: (signal: AbortSignal) => Promise<PlegReport>;
  readonly kubelet: KubeletAddresses;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The root of the machine that is looked at; `/`, or where it is mounted. */
  readonly hostRoot: string;
  /** After how long a call counts as hung. */
  readonly timeoutMs: number;
  /** For how long the runtime is watched at least. */
  readonly watchMs: number;
  readonly events: EventReading;
  /** Whether the disk may be measured, by writing to it. */
  readonly mayWrite: boolean;
  readonly certificateFolders: readonly string[];
  readonly onProgress?: (progress: RuntimeProgress) => void;
}

/** The usual places, for where the runtime does not say where its images are. */
const USUAL_IMAGES = '/var/lib/containerd';
const OTHER_DISKS: readonly DiskPath[] = [
  { path: '/var/lib/kubelet', purpose: 'the kubelet’s folder' },
  { path: '/var/lib/podloop', purpose: 'podloop’s folder' },
  { path: '/var/log', purpose: 'logs' },
  { path: '/run', purpose: 'sockets and state' },
  { path: '/', purpose: 'the root' },
];

/** Looks at a node. Rejects only when the signal aborts. */
export async function examineNode(options: ExamineNodeOptions): Promise<NodeFacts> {
  const { runtime, readAgent, clock, signal, timeoutMs, hostRoot } = options;
  const startedMs = clock.monotonicMs();
  const files = new HostFiles({ root: hostRoot, clock, signal });
  const kubelet = new KubeletExaminer({ addresses: options.kubelet, clock, signal, timeoutMs });
  const [first] = await Promise.all([lookAtProcesses(files), kubelet.begin()]);
  const { watchMs, events, onProgress } = options;
  const examination = await examineRuntime({
    ...{ runtime, clock, signal, timeoutMs, watchMs, events, onProgress },
  });
  const [machine, certificates, kubeletFacts, agent] = await Promise.all([
    examineMachine(options, files, first, examination),
    readCertificates(files, options.certificateFolders),
    kubelet.end(),
    ask(() => readAgent(signal)),
  ]);
  signal.throwIfAborted();
  return {
    ...{ atMs: clock.now(), tookMs: clock.monotonicMs() - startedMs },
    ...{ runtime: examination.facts, machine, certificates, kubelet: kubeletFacts, agent },
  };
}

/** Processes and the shims among them, at one time. */
interface ProcessLook {
  readonly processes: readonly SeenProcess[];
  readonly shims: readonly Shim[];
}

async function lookAtProcesses(files: HostFiles): Promise<Looked<ProcessLook>> {
  return await ask(async () => {
    const processes = await readProcesses(files);
    return { processes, shims: await readShims(files, processes) };
  });
}

async function examineMachine(
  { runtime, clock, mayWrite }: ExamineNodeOptions,
  files: HostFiles,
  first: Looked<ProcessLook>,
  { firstLists, lastLists, imageFilesystems }: RuntimeExamination,
): Promise<MachineFacts> {
  const second = await lookAtProcesses(files);
  const images = imageFilesystems.known ? imageFilesystems.value.map(({ mountpoint }) => mountpoint) : [];
  const folders = (images.length === 0 ? [USUAL_IMAGES] : images).filter((path) => path.startsWith('/'));
  const disks: DiskPath[] = folders.map((path) => ({
    ...{ path, purpose: 'images and containers', holdsImages: true },
  }));
  return {
    pressure: await readPressure(files),
    load: await readLoad(files),
    memory: await readMemory(files),
    processes:
      first.known && second.known
        ? known(await summarizeProcesses(files, first.value.processes, second.value.processes))
        : notKnown('/proc cannot be read'),
    ...(await measureDisks(files, [...disks, ...OTHER_DISKS])),
    fsync: mayWrite
      ? await measureFsync(files, folders[0] ?? '/', clock)
      : notKnown('it was told not to write'),
    shims:
      first.known && second.known && firstLists !== undefined && lastLists !== undefined
        ? known(
            judgeShims(
              { before: first.value.shims, after: second.value.shims },
              { first: firstLists, last: lastLists },
              runtime.endpoint.replace(/^unix:\/\//, ''),
            ),
          )
        : notKnown('processes or pods could not be listed'),
  };
}

async function ask<T>(question: () => Promise<T>): Promise<Looked<T>> {
  try {
    return known(await question());
  } catch (error) {
    return notKnown(messageOf(error));
  }
}
