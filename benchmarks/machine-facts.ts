import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { readVersions } from './needs.js';
import { type Settings } from './run-plan.js';
import { type Scenario } from './scenario.js';

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
  /** Cores that were busy right before the run: others at work make every figure worse. Earlier results have the load's average. */
  readonly loadBefore: number;
  /** Of the programs that were measured beside, or on; none where all is podloop's own. Earlier results lack it. */
  readonly versions?: Readonly<Record<string, string>>;
}

/** The share of a core's time above which others were at work. */
const BUSY_PER_CORE = 0.5;

/**
 * Reads them now; for that scenario with those settings, or for one whose agents are on their own. How many cores are busy is
 * measured by `measureBusyCores`, which takes its time.
 */
export function readMachineFacts(
  scenario: Pick<Scenario, 'joinsCluster' | 'needs' | 'releases'> = { needs: [] },
  settings: Settings = {},
): Omit<MachineFacts, 'loadBefore'> {
  const releases = scenario.releases?.((name) => settings[name]!) ?? [];
  return {
    date: new Date().toISOString(),
    commit: readCommit(listMeasured(scenario)),
    node: process.version,
    kernel: `${os.type()} ${os.release()}`,
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.cpus().length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    versions: readVersions(scenario.needs, releases),
  };
}

/** What of it makes figures others though the commit is the same: both sides of a ratio have it in common. */
export function identifyMachine({
  node,
  kernel,
  cpu,
  cores,
  memoryGiB,
}: Omit<MachineFacts, 'loadBefore'>): string {
  return `Node ${node}, ${kernel}, ${cores} × ${cpu}, ${memoryGiB} GiB`;
}

/** One line for people. */
export function formatMachineFacts(facts: MachineFacts): string {
  const { date, commit, node, kernel, cpu, cores, memoryGiB, loadBefore, versions = {} } = facts;
  const measured = isKnownCommit(commit)
    ? `commit ${commit}`
    : `commit ${commit.replace(/\+$/, '')} (**with files that are in no commit**)`;
  const beside = Object.entries(versions).map(([name, version]) => `${name} ${version}, `);
  return (
    `${date.slice(0, 16).replace('T', ' ')} UTC, ${measured}, Node ${node}, ${kernel}, ` +
    `${beside.join('')}${cores} × ${cpu}, ${memoryGiB} GiB, ` +
    `load before ${loadBefore.toFixed(2)}${isBusy(facts) ? ' (**others were at work**)' : ''}`
  );
}

/** Whether others were at work on the machine before: absolute figures are worse then, and intervals wider. */
export function isBusy({ loadBefore, cores }: Pick<MachineFacts, 'loadBefore' | 'cores'>): boolean {
  return loadBefore / cores > BUSY_PER_CORE;
}

/** What figures of every scenario may depend on; not what benchmarks write themselves, nor tests. */
const MEASURED = [
  ...['src', 'proto', 'benchmarks', 'test/containerd/harness', 'test/integration/scale', 'package-lock.json'],
  // They make the program of the sources.
  ...['scripts/bundle-program.mjs', 'tsconfig.json', 'tsconfig.build.json'],
  ...['results', 'plots', 'RESULTS.md'].map((name) => `:(exclude)benchmarks/${name}`),
  ':(exclude,glob)**/*.test.ts',
];
/** What only an agent that has joined a cluster loads, and what only a scenario with such agents is made of. */
const OF_CLUSTERS = [...['src/cluster', 'src/node/cluster'], ...['benchmarks/cluster', 'benchmarks/joined']];

/** As git takes them: paths, and paths that are left out. */
export function listMeasured({ joinsCluster = false }: Pick<Scenario, 'joinsCluster'>): readonly string[] {
  return joinsCluster
    ? [...MEASURED, 'test/cluster/harness']
    : [...MEASURED, ...OF_CLUSTERS.map((path) => `:(exclude)${path}`)];
}

/** How many commits have changed since then what a scenario's figures may depend on; undefined where nobody can tell. */
export function countChangesSince(
  scenario: Pick<Scenario, 'joinsCluster'>,
  commit: string,
): number | undefined {
  if (!/^[0-9a-f]+$/.test(commit)) return undefined;
  try {
    return Number(git('rev-list', '--count', `${commit}..HEAD`, '--', ...listMeasured(scenario)));
  } catch {
    return undefined;
  }
}

function readCommit(measured: readonly string[]): string {
  try {
    const hash = git('log', '-1', '--format=%h', '--', ...measured);
    return git('status', '--porcelain', '--', ...measured) === '' ? hash : `${hash}+`;
  } catch {
    return 'unknown';
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** False where files that are in no commit are part of what was measured. */
export function isKnownCommit(commit: string): boolean {
  return !commit.endsWith('+') && commit !== 'unknown';
}
