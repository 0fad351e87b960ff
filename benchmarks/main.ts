/**
 * `npm run bench`: runs scenarios one after the other and writes down what they found.
 *
 * @module
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { isDone } from './is-done.js';
import { readMachineFacts } from './machine-facts.js';
import { findMissingNeed } from './needs.js';
import { PartsFile } from './parts-file.js';
import { Progress } from './progress.js';
import { formatGoals, type KeptResult, ResultsFolder } from './results-page.js';
import { type Scenario } from './scenario.js';
import { SCENARIOS } from './scenarios.js';

const results = new ResultsFolder();
/** A terminal sends Ctrl-C to npm and to its children, and npm sends it to them once more. */
const SAME_SIGNAL_MS = 1_000;
/** Of no use to anybody but the next run. */
const PARTS_FOLDER = path.join('node_modules', '.cache', 'podloop-bench-parts');

async function main(signal: AbortSignal): Promise<void> {
  const settings = new Set(SCENARIOS.flatMap((scenario) => scenario.settings.map(({ name }) => name)));
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...Object.fromEntries([...settings].map((name) => [name, { type: 'string' as const }])),
      ...Object.fromEntries(
        ['full', 'keep', 'resume', 'page', 'help'].map((name) => [name, { type: 'boolean' as const }]),
      ),
    },
  });
  const isOn = (name: string): boolean => values[name] === true;
  if (isOn('help')) {
    process.stdout.write(formatHelp());
    return;
  }
  if (isOn('page')) {
    await results.writePage(SCENARIOS);
    return;
  }
  const scenarios = choose(positionals, isOn('full'));
  const kept = isOn('resume') ? await results.read() : new Map<string, KeptResult>();
  const failed: string[] = [];
  const isOver = (): boolean => signal.aborted;
  for (const scenario of scenarios) {
    if (isOver()) return;
    const settings = settingsOf(scenario, values, isOn('full'));
    const { commit } = readMachineFacts(scenario);
    if (isDone(kept.get(scenario.name), { commit, settings, full: isOn('full') })) {
      process.stderr.write(`${scenario.name}: done already at this commit with these settings\n`);
      continue;
    }
    const missing = findMissingNeed(scenario.needs);
    if (missing !== undefined) {
      process.stderr.write(`${scenario.name}: not run: ${missing}\n`);
      // Whoever named it wants to know.
      if (positionals.includes(scenario.name)) failed.push(scenario.name);
      continue;
    }
    try {
      const [full, resume] = [isOn('full'), isOn('resume')];
      await runOne(scenario, { settings, full, keep: full || isOn('keep'), resume, signal });
    } catch (error) {
      if (isOver()) return;
      process.stderr.write(
        `${scenario.name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
      );
      failed.push(scenario.name);
    }
  }
  if (failed.length > 0) throw new Error(`not all was measured: ${failed.join(', ')}`);
}

interface RunOptions {
  readonly settings: Readonly<Record<string, string>>;
  readonly full: boolean;
  readonly keep: boolean;
  readonly resume: boolean;
  readonly signal: AbortSignal;
}

async function runOne(scenario: Scenario, options: RunOptions): Promise<void> {
  const { settings, full, keep, resume, signal } = options;
  const facts = readMachineFacts(scenario);
  const { commit } = facts;
  const partsFile = path.join(PARTS_FOLDER, `${scenario.name}.json`);
  const parts = await PartsFile.open(partsFile, { commit, settings }, resume);
  const beganMs = performance.now();
  const outcome = await scenario.run({
    ...{ full, signal, progress: new Progress(), parts },
    setting: (name) => {
      const value = settings[name];
      if (value === undefined) throw new Error(`${scenario.name} has no setting "${name}"`);
      return value;
    },
  });
  signal.throwIfAborted();
  const tookSeconds = Math.round((performance.now() - beganMs) / 1_000);
  const { title } = scenario;
  process.stdout.write(
    `## ${title}\n\n${outcome.text.trim()}\n\n${formatGoals([{ title, full, ...outcome }])}\n\n`,
  );
  if (keep) {
    await results.keep({ scenario, facts, full, tookSeconds, settings }, outcome);
    await results.writePage(SCENARIOS);
  }
  await parts.remove();
}

/** Those that were named; all that are short enough, or with --full all. */
function choose(names: readonly string[], full: boolean): readonly Scenario[] {
  const unknown = names.find((name) => !SCENARIOS.some((known) => known.name === name));
  if (unknown !== undefined) throw new Error(`there is no scenario "${unknown}"; see --help`);
  if (names.length > 0) return SCENARIOS.filter(({ name }) => names.includes(name));
  return full ? SCENARIOS : SCENARIOS.filter(({ needs }) => !needs.includes('kubelet'));
}

/** Each setting of a scenario: as told, else by the length of the run. */
function settingsOf(
  scenario: Scenario,
  values: Readonly<Record<string, unknown>>,
  full: boolean,
): Record<string, string> {
  const chosen = scenario.settings.map(({ name, short, full: long = short }): [string, string] => {
    const value = values[name];
    return [name, typeof value === 'string' ? value : full ? long : short];
  });
  return Object.fromEntries(chosen);
}

function formatHelp(): string {
  const lines = SCENARIOS.flatMap(({ name, about, runtimes, settings, fullMinutes }) => [
    `  ${name.padEnd(12)}${about}`,
    `  ${' '.repeat(12)}on ${runtimes}; about ${fullMinutes} min with --full`,
    ...settings.map(({ name: setting, placeholder, about: what, short, full = short }) => {
      const usual = full === short ? short : `${short}, with --full ${full}`;
      return `  ${' '.repeat(14)}--${`${setting} ${placeholder}`.padEnd(16)} ${what} (${usual})`;
    }),
  ]);
  return `Usage: npm run bench -- [options] [scenario…]

Runs all scenarios whose needs are there, or those that are named.

Scenarios and their settings:
${lines.join('\n')}

Options:
  --full      more time for each, and the results are kept: benchmarks/results/, benchmarks/plots/ and benchmarks/RESULTS.md
  --keep      keep the results without --full
  --resume    pass over scenarios whose kept results are of this commit, length and settings, and go on in the
              one that was interrupted, where it keeps what it finds part by part (kubelet,
              cluster, latency)
  --page      only make the page anew from the results that are kept
  --help      this text

Tables go to stdout, progress to stderr. A kubelet to measure beside is found at KUBELET,
the programs of a control plane in the folder KUBEBUILDER_ASSETS.
`;
}

const stop = new AbortController();
let stoppedMs = 0;
const end = (): void => {
  if (!stop.signal.aborted) {
    stoppedMs = performance.now();
    process.stderr.write('bench: takes away what it made; once more leaves it behind\n');
    stop.abort();
  } else if (performance.now() - stoppedMs > SAME_SIGNAL_MS) process.exit(130);
};
process.on('SIGINT', end);
process.on('SIGTERM', end);
try {
  await main(stop.signal);
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
if (stop.signal.aborted) process.exitCode = 130;
