/**
 * The doctor with a real runtime: what `podloop doctor` runs, without an agent.
 *
 * In: options. Out: the observations, and the problems. It starts, stops and removes nothing.
 *
 * @module
 */
import {
  diagnose,
  type EventObject,
  examineNode,
  type ExamineNodeOptions,
  EXIT_CODES,
  explainPod,
  type Finding,
  type NodeFacts,
  type PickedPod,
  pickPod,
  type PodDiagnosis,
  type PodName,
} from '#doctor';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { DoctorRuntime } from './doctor-runtime.js';
import { findRuntime } from '../find-runtime.js';

export {
  CERTIFICATE_FOLDERS,
  type EventObject,
  type EventReading,
  EXIT_CODES,
  exitCodeOf,
  type Finding,
  formatBytes,
  formatMs,
  type HttpCredentials,
  isWholeReport,
  listUnseen,
  type NodeFacts,
  type RuntimeProgress,
} from '#doctor';

/** Options of {@link runDoctor}. */
export interface DoctorOptions extends Omit<ExamineNodeOptions, 'runtime'> {
  /** The runtime's endpoint; empty for the runtime of the machine. */
  readonly runtimeEndpoint: string;
}

/** The result of an examination. */
export interface Diagnosis {
  readonly facts: NodeFacts;
  /** Worst first. */
  readonly findings: readonly Finding[];
}

/** Where a runtime would be, when there is none at all. */
const USUAL_ENDPOINT = 'unix:///run/containerd/containerd.sock';

/** What was found out about one pod. */
export type PodAnswer = { readonly diagnosis: Diagnosis } & (
  | { readonly kind: 'explained'; readonly explained: PodDiagnosis }
  | Exclude<PickedPod, { readonly kind: 'found' }>
);

/** Options of {@link runPodDoctor}. */
export interface PodDoctorOptions extends DoctorOptions {
  readonly pod: PodName;
  /** The events of a pod, newest first, where podloop's agent runs; rejects where there is none. */
  readonly readPodEvents: (pod: PodRef) => Promise<readonly EventObject[]>;
}

/** Examines the node once. Rejects when an option is invalid, or with the signal's reason. */
export async function runDoctor(options: DoctorOptions): Promise<Diagnosis> {
  return await withRuntime(options, async (runtime) => {
    const { facts } = await examineNode({ ...options, runtime });
    return { facts, findings: diagnose(facts) };
  });
}

/** Examines the node once, and says why a pod does not run. Rejects as {@link runDoctor} does. */
export async function runPodDoctor(options: PodDoctorOptions): Promise<PodAnswer> {
  return await withRuntime(options, async (runtime): Promise<PodAnswer> => {
    const { facts, pods } = await examineNode({ ...options, runtime });
    const diagnosis: Diagnosis = { facts, findings: diagnose(facts) };
    const picked = pickPod(pods, options.pod);
    if (picked.kind !== 'found') return { diagnosis, ...picked };
    const { signal, timeoutMs } = options;
    const events =
      picked.source === 'podloop’s agent' ? await options.readPodEvents(picked.pod).catch(() => []) : [];
    const containers = await Promise.all(
      picked.containers.map(async (container) => ({
        ...container,
        ...(await runtime.readEnd(container.id, { signal, timeoutMs }).catch(() => ({}))),
      })),
    );
    signal.throwIfAborted();
    const explained = explainPod({ ...picked, ...diagnosis, events, containers });
    return { kind: 'explained', diagnosis, explained };
  });
}

/** The exit code for a pod: of a pod that does not run, how bad its node is. */
export function exitCodeOfPod(answer: PodAnswer): number {
  if (answer.kind === 'ambiguous') return EXIT_CODES.usage;
  if (answer.kind === 'absent') return answer.isSure ? EXIT_CODES.usage : EXIT_CODES.notJudged;
  const { isWell, step, findings } = answer.explained;
  if (findings.some(({ severity }) => severity === 'critical')) return EXIT_CODES.critical;
  if (step === 'unknown') return EXIT_CODES.notJudged;
  return isWell && findings.length === 0 ? EXIT_CODES.healthy : EXIT_CODES.warnings;
}

async function withRuntime<T>(
  { runtimeEndpoint, clock }: DoctorOptions,
  work: (runtime: DoctorRuntime) => Promise<T>,
): Promise<T> {
  // A machine without a runtime is a case for the doctor, not a usage error.
  const endpoint = (await findRuntime(runtimeEndpoint)) ?? USUAL_ENDPOINT;
  const runtime = new DoctorRuntime({ endpoint, clock });
  try {
    return await work(runtime);
  } finally {
    runtime.close();
  }
}
