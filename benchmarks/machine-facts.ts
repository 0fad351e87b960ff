import { execFileSync } from 'node:child_process';
import os from 'node:os';

/** Where and with what a result was measured: absolute figures mean nothing without it. */
export interface MachineFacts {
  readonly date: string;
  /** Short hash, with `+` when files of the sources or benchmarks differ from it. */
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

function readCommit(): string {
  try {
    const hash = git('rev-parse', '--short', 'HEAD');
    return git('status', '--porcelain', '--', 'src', 'benchmarks', 'package-lock.json') === ''
      ? hash
      : `${hash}+`;
  } catch {
    return 'unknown';
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
