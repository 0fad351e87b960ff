import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { parseSpecReport, type SpecResult } from '../critest/spec-report.js';
import { type E2ePrograms } from './e2e-programs.js';
import { GinkgoProgress, type ProgressStep } from './ginkgo-progress.js';
import { focusPattern, LABEL_FILTER, SKIPPED_SPECS, specName } from './spec-choice.js';

const run = promisify(execFile);
const SUITE_LIMIT = '5h';
const MAX_END_MS = 120_000;
const LARGEST_OUTPUT = 64 * 1024 * 1024;

/** What {@link runSuite} needs; paths absolute. */
export interface SuiteRun {
  readonly programs: E2ePrograms;
  readonly kubeconfig: string;
  readonly kubectl: string | undefined;
  /** Made unless it is there; the report and the output go here. */
  readonly folder: string;
  readonly specs: readonly SpecResult[];
  /** How many specs run beside one another. */
  readonly processes: number;
  /** Told while specs end. */
  readonly onStep: (step: ProgressStep) => void;
  readonly signal: AbortSignal;
}

/** The images that the suite uses, by their whole names. */
export async function listImages({ suite }: E2ePrograms): Promise<string[]> {
  const { stdout } = await run(suite, ['--list-images'], { maxBuffer: LARGEST_OUTPUT });
  return stdout.split('\n').filter((line) => /^\S+\/\S+:\S+$/.test(line));
}

/** The specs that are asked for, by {@link LABEL_FILTER} and {@link SKIPPED_SPECS}; none is run. */
export async function listSpecs({ suite }: E2ePrograms, folder: string): Promise<SpecResult[]> {
  const report = path.join(folder, 'specs.json');
  const args = ['dry-run', `label-filter=${LABEL_FILTER}`, `skip=${SKIPPED_SPECS}`, `json-report=${report}`];
  await run(
    suite,
    args.map((arg) => `--ginkgo.${arg}`),
    { cwd: folder, maxBuffer: LARGEST_OUTPUT },
  );
  const all = parseSpecReport(await readFile(report, 'utf8'));
  return all.filter(({ state }) => state === 'passed');
}

/** Runs these specs; rejects when the suite leaves no report. Specs that fail are a result. */
export async function runSuite(options: SuiteRun): Promise<SpecResult[]> {
  const { programs, folder, specs, processes, kubectl } = options;
  const temporary = path.join(folder, 'tmp');
  await mkdir(temporary, { recursive: true });
  const ginkgo = [
    ...[`-procs=${processes}`, `-timeout=${SUITE_LIMIT}`, '-no-color', '-keep-going'],
    ...[`-label-filter=${LABEL_FILTER}`, `-skip=${SKIPPED_SPECS}`, `-focus=${focusPattern(specs)}`],
    ...['-json-report=report.json', `-output-dir=${folder}`, '-silence-skips'],
  ];
  const suite = [
    ...[`--kubeconfig=${options.kubeconfig}`, '--provider=skeleton'],
    ...[`--e2e-output-dir=${temporary}`, `--report-dir=${folder}`, '--disable-log-dump'],
    ...(kubectl === undefined ? [] : [`--kubectl-path=${kubectl}`]),
  ];
  await runGinkgo(options, [...ginkgo, programs.suite, '--', ...suite]);
  const asked = new Set(specs.map(specName));
  const report = await readFile(path.join(folder, 'report.json'), 'utf8').catch((cause: unknown) => {
    throw new Error(`the suite left no report; ${path.join(folder, 'ginkgo.log')} says more`, { cause });
  });
  return parseSpecReport(report).filter((result) => asked.has(specName(result)) && hasEnded(result));
}

/** Whether a spec came to its end: what was interrupted before its turn is reported as skipped, for no reason. */
function hasEnded({ state, message }: SpecResult): boolean {
  return state === 'skipped' ? message !== '' : message !== 'Interrupted by User';
}

async function runGinkgo(
  { programs, folder, signal, onStep }: SuiteRun,
  args: readonly string[],
): Promise<void> {
  signal.throwIfAborted();
  const log = createWriteStream(path.join(folder, 'ginkgo.log'));
  const child = spawn(programs.ginkgo, args, {
    cwd: folder,
    env: { ...process.env, HOME: folder, TMPDIR: path.join(folder, 'tmp') },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: each of its processes has to be told to end.
    detached: true,
  });
  const progress = new GinkgoProgress(onStep);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    log.write(text);
    progress.read(text);
  });
  child.stderr.pipe(log, { end: false });
  let impatient: NodeJS.Timeout | undefined;
  // Asked once, the suite ends its specs and takes their namespaces away.
  const end = (): void => {
    signalGroup(child, 'SIGINT');
    impatient = setTimeout(() => signalGroup(child, 'SIGKILL'), MAX_END_MS);
  };
  signal.addEventListener('abort', end, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', () => resolve());
    });
  } finally {
    signal.removeEventListener('abort', end);
    clearTimeout(impatient);
    log.end();
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}
