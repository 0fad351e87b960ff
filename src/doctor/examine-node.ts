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
import { type PlegReport } from '#kube/node/pleg-report.js';
import { withoutCredentials } from '#base/text/without-credentials.js';
import { type Clock } from '#base/time/clock.js';
import { type KubeletAddresses, KubeletExaminer } from './examine-kubelet.js';
import { MachineExaminer } from './examine-machine.js';
import { type EventReading, examineRuntime, type RuntimeProgress } from './examine-runtime.js';
import { HostFiles, type SilentPaths } from './facts/host-files.js';
import { type BundleCache } from './host/bundle-cache.js';
import { readWaitingPods } from './host/waiting-pods.js';
import { ask, known } from './looked.js';
import { type NodeFacts } from './facts/node-facts.js';
import { readCertificates } from './facts/read-certificates.js';
import { nameKilled, nameShims } from './name-shims.js';
import { type SeenPods } from './pods/pick-pod.js';
import { type RuntimePort } from './runtime-port.js';

/** What {@link examineNode} works with. */
export interface ExamineNodeOptions {
  readonly runtime: RuntimePort;
  /** What podloop's own agent says; rejects where there is none. */
  readonly readAgent: (signal: AbortSignal) => Promise<PlegReport>;
  /** Its list of pods; rejects where there is none. */
  readonly readAgentPods: (signal: AbortSignal) => Promise<unknown>;
  readonly kubelet: KubeletAddresses;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The root of the examined machine: `/`, or where it is mounted. */
  readonly hostRoot: string;
  /** After how long a call counts as hung. */
  readonly timeoutMs: number;
  /** For how long the runtime is watched at least. */
  readonly watchMs: number;
  readonly events: EventReading;
  /** Whether the disk may be measured, by writing to it. */
  readonly mayWrite: boolean;
  readonly certificateFolders: readonly string[];
  /** For who examines again and again: paths that hang since an earlier examination. */
  readonly silentPaths?: SilentPaths;
  /** What earlier examinations have read of bundles (default: nothing). */
  readonly bundles?: BundleCache;
  readonly onProgress?: (progress: RuntimeProgress) => void;
}

/** What was seen of a node: the facts, and the pods behind them. */
export interface NodeExamination {
  readonly facts: NodeFacts;
  readonly pods: SeenPods;
}

/** Examines a node. Rejects only when the signal aborts. */
export async function examineNode(options: ExamineNodeOptions): Promise<NodeExamination> {
  const { runtime, readAgent, readAgentPods, clock, signal, timeoutMs, hostRoot } = options;
  const startedMs = clock.monotonicMs();
  const files = new HostFiles({ root: hostRoot, clock, signal, silentPaths: options.silentPaths });
  const kubelet = new KubeletExaminer({ addresses: options.kubelet, clock, signal, timeoutMs });
  const machine = new MachineExaminer({
    ...{ files, clock, signal, mayWrite: options.mayWrite },
    addresses: {
      socketPath: runtime.endpoint.replace(/^unix:\/\//, ''),
      kubeletPort: portOf(options.kubelet.healthzUrl),
    },
    bundles: options.bundles,
  });
  void kubelet.begin();
  await machine.begin();
  const { watchMs, events, onProgress } = options;
  const examination = await examineRuntime({
    ...{ runtime, clock, signal, timeoutMs, watchMs, events, onProgress },
  });
  const lists = examination.lastLists;
  const [machineFacts, certificates, kubeletFacts, agent, ofAgent] = await Promise.all([
    machine.end(examination),
    readCertificates(files, options.certificateFolders),
    kubelet.end(lists?.sandboxes),
    ask(() => readAgent(signal)),
    ask(() => readAgentPods(signal)),
  ]);
  signal.throwIfAborted();
  const names = { lists, ofKubelet: kubelet.pods };
  const runtimeWork = nameShims(machineFacts.runtimeWork, names);
  const kernelLog = nameKilled(machineFacts.kernelLog, names);
  const waiting =
    kubelet.pods.known || !ofAgent.known
      ? kubeletFacts.waiting
      : known(readWaitingPods(ofAgent.value, lists?.sandboxes ?? [], clock.now()));
  return {
    // Errors repeat what registries and other servers were asked with, and end up in findings, events and incidents.
    facts: withoutCredentials({
      ...{ atMs: clock.now(), tookMs: clock.monotonicMs() - startedMs },
      ...{
        runtime: examination.facts,
        machine: { ...machineFacts, runtimeWork, kernelLog },
        ...certificates,
        agent,
      },
      kubelet: { ...kubeletFacts, waiting },
    }),
    pods: { ofAgent, ofKubelet: kubelet.pods, lists },
  };
}

/** The port of an address; undefined for an empty one. */
export function portOf(url: string): number | undefined {
  return url === '' ? undefined : Number(new URL(url).port) || undefined;
}
