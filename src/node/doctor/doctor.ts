/**
 * The doctor with a real runtime: what `podloop doctor` runs, and nothing of an agent.
 *
 * In: options. Out: what was found out, and what is wrong. It starts, stops and removes nothing.
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
  type Looked,
  type NodeFacts,
  type RuntimeProgress,
} from '#doctor';

/** How {@link runDoctor} looks. */
export interface DoctorOptions extends Omit<ExamineNodeOptions, 'runtime'> {
  /** Of the runtime; empty for the one that the machine has. */
  readonly runtimeEndpoint: string;
}

/** What a look at a node gave. */
export interface Diagnosis {
  readonly facts: NodeFacts;
  /** Worst first. */
  readonly findings: readonly Finding[];
}

/** Where a runtime would be, when there is none at all. */
const USUAL_ENDPOINT = 'unix:///run/containerd/containerd.sock';

/** Looks at the node once. Rejects when an option cannot be used, or with the signal's reason. */
export async function runDoctor({ runtimeEndpoint, ...options }: DoctorOptions): Promise<Diagnosis> {
  // A machine without a runtime is what the doctor is there for, and no wrong use of it.
  const endpoint = (await findRuntime(runtimeEndpoint)) ?? USUAL_ENDPOINT;
  const runtime = new DoctorRuntime({ endpoint, clock: options.clock });
  try {
    const facts = await examineNode({ ...options, runtime });
    return { facts, findings: diagnose(facts) };
  } finally {
    runtime.close();
  }
}
