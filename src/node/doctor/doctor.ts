/**
 * The doctor with a real runtime: what `podloop doctor` runs, and nothing of an agent.
 *
 * In: options. Out: what was found out, and what is wrong. It starts, stops and removes nothing.
 *
 * @module
 */
import { diagnose } from '../../doctor/diagnose.js';
import { examineNode, type ExamineNodeOptions } from '../../doctor/examine-node.js';
import { type Finding } from '../../doctor/finding.js';
import { type NodeFacts } from '../../doctor/facts/node-facts.js';
import { DoctorRuntime } from './doctor-runtime.js';
import { findRuntime } from '../find-runtime.js';

export { isWholeReport } from '../../doctor/facts/agent-report.js';
export { EXIT_CODES, exitCodeOf } from '../../doctor/diagnose.js';
export { type EventReading, type RuntimeProgress } from '../../doctor/examine-runtime.js';
export { type Finding, type Severity } from '../../doctor/finding.js';
export { FINDING_CODES, type FindingCode } from '../../doctor/finding-codes.js';
export { type HttpCredentials } from '../../doctor/facts/http-get.js';
export { type Looked } from '../../doctor/looked.js';
export { type NodeFacts } from '../../doctor/facts/node-facts.js';
export { CERTIFICATE_FOLDERS } from '../../doctor/facts/read-certificates.js';
export { formatBytes, formatMs } from '../../doctor/rules/words.js';

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
