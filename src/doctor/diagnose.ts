import { type Finding } from './finding.js';
import { type NodeFacts } from './facts/node-facts.js';
import { agentRules } from './rules/agent-rules.js';
import { certificateRules } from './rules/certificate-rules.js';
import { cgroupRules } from './rules/cgroup-rules.js';
import { connectionRules } from './rules/connection-rules.js';
import { daemonRules } from './rules/daemon-rules.js';
import { diskRules } from './rules/disk-rules.js';
import { eventRules } from './rules/event-rules.js';
import { foldFindings } from './rules/fold-findings.js';
import { kernelRules } from './rules/kernel-rules.js';
import { kubeletRules } from './rules/kubelet-rules.js';
import { mountRules } from './rules/mount-rules.js';
import { podRules } from './rules/pod-rules.js';
import { populationRules } from './rules/population-rules.js';
import { pressureRules } from './rules/pressure-rules.js';
import { processRules } from './rules/process-rules.js';
import { readinessRules } from './rules/readiness-rules.js';
import { type Rule } from './rules/rule.js';
import { runtimeRules } from './rules/runtime-rules.js';
import { sandboxRules } from './rules/sandbox-rules.js';
import { shimRules } from './rules/shim-rules.js';
import { waitingRules } from './rules/waiting-rules.js';
import { unitRules } from './rules/unit-rules.js';
import { listUnseen } from './unseen.js';

/** Causes before what follows from them: of two findings that are as bad, the first is the better explanation. */
const RULES: readonly Rule[] = [
  ...[
    daemonRules,
    unitRules,
    connectionRules,
    pressureRules,
    mountRules,
    kernelRules,
    diskRules,
    readinessRules,
    shimRules,
    sandboxRules,
    waitingRules,
    runtimeRules,
    podRules,
    populationRules,
  ],
  ...[processRules, eventRules, certificateRules, kubeletRules, agentRules, cgroupRules],
];

/** What is wrong with a node, worst first, each with what follows from it. Pure. */
export function diagnose(facts: NodeFacts): Finding[] {
  return foldFindings(RULES.flatMap((rule) => rule(facts)));
}

/** The exit codes of `podloop doctor`. */
export const EXIT_CODES = { healthy: 0, warnings: 1, critical: 2, usage: 3, notJudged: 4 } as const;

/** The exit code of the program for a node: that of its worst finding, or that it could not be judged. */
export function exitCodeOf({ facts, findings }: ExaminedNode): number {
  const [worst] = findings.filter(({ code }) => code !== 'RuntimeForbidden');
  if (worst?.severity === 'critical') return EXIT_CODES.critical;
  // Nothing is known of a runtime that may not be opened, good or bad.
  if (findings.some(({ code }) => code === 'RuntimeForbidden')) return EXIT_CODES.notJudged;
  if (worst?.severity === 'warning') return EXIT_CODES.warnings;
  return listUnseen(facts).some(({ isNeeded }) => isNeeded) ? EXIT_CODES.notJudged : EXIT_CODES.healthy;
}

/** A node as it was seen, and what is wrong with it, worst first. */
interface ExaminedNode {
  readonly facts: NodeFacts;
  readonly findings: readonly Finding[];
}
