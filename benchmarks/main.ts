/**
 * `npm run bench`: runs scenarios one after the other and writes down what they found.
 *
 * @module
 */
import path from 'node:path';
import { formatHelp } from './help.js';
import { isDone } from './is-done.js';
import { measureBusyCores } from './busy-cores.js';
import {
  countChangesSince,
  identifyMachine,
  isBusy,
  type MachineFacts,
  readMachineFacts,
} from './machine-facts.js';
import { findMissingNeed } from './needs.js';
import { type KeptResult } from './kept-result.js';
import { PartsFile, partsFileOf } from './parts-file.js';
import { Progress } from './progress.js';
import { readArguments } from './read-arguments.js';
import { formatGoals, ResultsFolder } from './results-page.js';
import { takeRunLock } from './run-lock.js';
import {
  checkSettings,
  chooseScenarios,
  isFullRun,
  mayReplace,
  type Settings,
  settingsOf,
} from './run-plan.js';
import { type Scenario } from './scenario.js';
import { SCENARIOS } from './scenarios.js';

const SWITCHES = ['full', 'keep', 'replace', 'resume', 'page', 'help'];
const results = new ResultsFolder('benchmarks', {
  onSkipped: (file, why) => process.stderr.write(`${file} is passed over: ${why}\n`),
});
/** A terminal sends Ctrl-C to npm and to its children, and npm sends it to them once more. */
const SAME_SIGNAL_MS = 1_000;
/** Of no use to anybody but the next run. */
const PARTS_FOLDER = path.join('node_modules', '.cache', 'podloop-bench-parts');
const LOCK_FILE = path.join('node_modules', '.cache', 'podloop-bench.lock');

async function main(signal: AbortSignal): Promise<void> {
  const settings = SCENARIOS.flatMap((scenario) => scenario.settings.map(({ name }) => name));
  const { values, positionals } = readArguments(process.argv.slice(2), { settings, switches: SWITCHES });
  const isOn = (name: string): boolean => values[name] === true;
  if (isOn('help')) {
    process.stdout.write(formatHelp(SCENARIOS));
    return;
  }
  if (isOn('page')) {
    await results.writePage(SCENARIOS);
    warnOfAge(await results.read());
    return;
  }
  const scenarios = chooseScenarios(SCENARIOS, positionals, isOn('full'));
  checkSettings(SCENARIOS, scenarios, values);
  // Figures of what somebody built before would be given the name of this commit.
  const stale = scenarios.some(({ needs }) => needs.includes('build'))
    ? findMissingNeed(['build'])
    : undefined;
  if (stale !== undefined) throw new Error(stale);
  const isAsked = isOn('full') || isOn('keep') || isOn('replace');
  await using _lock = isAsked ? await takeRunLock(LOCK_FILE) : undefined;
  const kept = await results.read();
  const failed: string[] = [];
  const isOver = (): boolean => signal.aborted;
  for (const scenario of scenarios) {
    if (isOver()) return;
    const settings = settingsOf(scenario, values, isOn('full'));
    const full = isFullRun(scenario, settings, isOn('full'));
    const machine = readMachineFacts(scenario, settings);
    const { commit, versions } = machine;
    const before = kept.get(scenario.name);
    if (isOn('resume') && isDone(before, { ...{ commit, settings, full }, ...(versions && { versions }) })) {
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
      const facts = { ...machine, loadBefore: await measureBusyCores(signal) };
      const keep = isAsked && (isOn('replace') || mayReplace(before, { full }));
      if (isAsked && !keep)
        process.stderr.write(
          `${scenario.name}: what is kept is of a full run, and stays: this one is less; see --replace\n`,
        );
      if (isBusy(facts))
        process.stderr.write(
          `${scenario.name}: others are at work: ${facts.loadBefore.toFixed(1)} of ${facts.cores} cores are busy\n`,
        );
      await runOne(scenario, { settings, facts, full, keep, resume: isOn('resume'), signal });
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

/** The page is the same whenever it is made, so it cannot say it. */
function warnOfAge(kept: ReadonlyMap<string, KeptResult>): void {
  for (const scenario of SCENARIOS) {
    const commit = kept.get(scenario.name)?.facts.commit;
    if (commit === undefined) continue;
    const changes = countChangesSince(scenario, commit);
    const since = changes === undefined ? 'not known' : changes === 0 ? 'none' : String(changes);
    process.stderr.write(
      `${scenario.name}: measured at ${commit}; commits since that changed sources or benchmarks: ${since}\n`,
    );
  }
}

interface RunOptions {
  readonly settings: Settings;
  readonly facts: MachineFacts;
  readonly full: boolean;
  readonly keep: boolean;
  readonly resume: boolean;
  readonly signal: AbortSignal;
}

async function runOne(scenario: Scenario, options: RunOptions): Promise<void> {
  const { settings, facts, full, keep, resume, signal } = options;
  const { commit, versions } = facts;
  const partsFile = partsFileOf(PARTS_FOLDER, scenario.name, full, settings);
  const run = { ...{ commit, settings, machine: identifyMachine(facts) }, ...(versions && { versions }) };
  const parts = await PartsFile.open(partsFile, run, resume, facts.loadBefore);
  const outcome = await scenario.run({
    ...{ full, signal, progress: new Progress(), parts },
    setting: (name) => {
      const value = settings[name];
      if (value === undefined) throw new Error(`${scenario.name} has no setting "${name}"`);
      return value;
    },
  });
  signal.throwIfAborted();
  const { sittings } = parts;
  const { title } = scenario;
  process.stdout.write(
    `## ${title}\n\n${outcome.text.trim()}\n\n${formatGoals([{ title, full, ...outcome }])}\n\n`,
  );
  if (keep) {
    const loadBefore = Math.max(...sittings.map((each) => each.loadBefore));
    const tookSeconds = sittings.reduce((sum, each) => sum + each.tookSeconds, 0);
    const kept = { scenario, full, tookSeconds, sittings: sittings.length, settings };
    await results.keep({ ...kept, facts: { ...facts, loadBefore } }, outcome);
    await results.writePage(SCENARIOS);
  }
  await parts.remove();
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
