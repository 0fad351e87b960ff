/**
 * The doctor with a real runtime: what `podloop doctor` runs, without an agent.
 *
 * In: options. Out: the observations, and the problems. It starts, stops and removes nothing.
 *
 * @module
 */
import { diagnose, examineNode, type ExamineNodeOptions, type Finding, type NodeFacts } from '#doctor';
import { DoctorRuntime } from './doctor-runtime.js';
import { findRuntime } from '../find-runtime.js';

export {
  CERTIFICATE_FOLDERS,
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

/** Examines the node once. Rejects when an option is invalid, or with the signal's reason. */
export async function runDoctor({ runtimeEndpoint, ...options }: DoctorOptions): Promise<Diagnosis> {
  // A machine without a runtime is a case for the doctor, not a usage error.
  const endpoint = (await findRuntime(runtimeEndpoint)) ?? USUAL_ENDPOINT;
  const runtime = new DoctorRuntime({ endpoint, clock: options.clock });
  try {
    const facts = await examineNode({ ...options, runtime });
    return { facts, findings: diagnose(facts) };
  } finally {
    runtime.close();
  }
}
