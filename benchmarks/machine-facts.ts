import { execFileSync } from 'node:child_process';
import os from 'node:os';

/** Where and with what a result was measured: absolute figures mean nothing without it. */
export interface MachineFacts {
  readonly date: string;
  /**
   * Short hash of the last commit that changed the sources or benchmarks, with `+` when their files differ from it: so
   * results that are kept, and committed, are still of the commit that they were measured at.
   */
  readonly commit: string;
  readonly node: string;
  readonly kernel: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** Average of the last minute before the run: others at work make every figure worse. */
  readonly loadBefore: number;
}

/** Reads them now. */
export function readMachineFacts(): MachineFacts {
  return {
    date: new Date().toISOString(),
    commit: readCommit(),
    node: process.version,
    kernel: `${os.type()} ${os.release()}`,
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.cpus().length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    loadBefore: os.loadavg()[0]!,
  };
}

/** One line for people. */
export function formatMachineFacts(facts: MachineFacts): string {
  const { date, commit, node, kernel, cpu, cores, memoryGiB, loadBefore } = facts;
  return (
    `${date.slice(0, 16).replace('T', ' ')} UTC, commit ${commit}, Node ${node}, ${kernel}, ` +
    `${cores} × ${cpu}, ${memoryGiB} GiB, load before ${loadBefore.toFixed(2)}`
  );
}

/**
 * What figures may depend on; not what benchmarks write themselves, nor tests, nor what only an agent that has joined a
 * cluster loads: no scenario joins one.
 */
const MEASURED = [
  ...['src', 'proto', 'benchmarks', 'test/containerd/harness', 'test/integration/scale', 'package-lock.json'],
  ...['results', 'plots', 'RESULTS.md'].map((name) => `:(exclude)benchmarks/${name}`),
  ...['cluster', 'agent/cluster', 'agent/cluster-node', 'agent/cluster-events'].map(
    (name) => `:(exclude)src/${name}`,
  ),
  ':(exclude,glob)**/*.test.ts',
];

function readCommit(): string {
  try {
    const hash = git('log', '-1', '--format=%h', '--', ...MEASURED);
    return git('status', '--porcelain', '--', ...MEASURED) === '' ? hash : `${hash}+`;
  } catch {
    return 'unknown';
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
