/**
 * `npm run test:machine`: runs suites in a stock Debian 13 under QEMU and keeps what every test came to.
 *
 * In: root, and qemu, mmdebstrap and mke2fs, which are installed where they are missing. Out: docs/results/machine.json
 * with one record for each test, and the page made from it. Exit code 0 when nothing failed (or nothing can run here, which
 * the last line says), 1 when a test failed, 2 when the run itself could not go on. Suites that have passed since what
 * they depend on last changed are not run again, so that a run may be spread over several sittings.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { CannotRun, ensureHostTools } from './host-tools.js';
import { type ImageName, IMAGES, IMAGE_WORDS } from './image-recipe.js';
import { isDone, keepResults, readCommit, readResults, RESULTS_FILE } from './kept-results.js';
import { type TestResult } from './machine-result.js';
import { findCacheFolder, provideImage, provideRootTar } from './node-image.js';
import { makePayload } from './payload.js';
import { MachineSession } from './machine-session.js';
import { sampleSuites, SAMPLE_MINUTES } from './suite-sample.js';
import { chooseSuites, listSuites, type PlannedSuite, planSuites } from './suites.js';

const HELP = `Usage: npm run test:machine -- [options]

Boots a stock Debian 13 under QEMU, installs the packed package and runs suites in it over ssh.

  --image <name>     only that image; may be repeated (default: all)
${IMAGES.map((name) => `                       ${name}: ${IMAGE_WORDS[name]}`).join('\n')}
  --only <word>      only the suite of that name, else those whose names contain it; may be repeated
                     (default: all)
  --again            also suites that passed since what they depend on last changed
  --list             list suites, with what earlier runs came to, and run none
  --sample           a few suites by chance that have passed on one image, in at most ${SAMPLE_MINUTES} minutes; keeps
                     no results
  --seed <n>         of the sample: the same seed chooses the same suites (default: from the commit)
  --minutes <n>      start no further suite after that time (default: no limit)
  --keep             keep the folder with consoles and reports
  --help             this text

Examples:
  npm run test:machine                                       every suite on both images that has not passed yet
  npm run test:machine -- --image debian13 --only cgroups    the suites of cgroups on one image
  npm run test:machine -- --minutes 60                       an hour of it; the next run goes on from there
  npm run test:machine -- --list                             what there is and how it stands

Suites with programs of Kubernetes take them from the folder that KUBEBUILDER_ASSETS names (test/e2e/README.md), and are left out without it.
Needs root. Images are cached in ~/.cache/podloop-machine (PODLOOP_MACHINE_CACHE names another folder).
`;

const { values } = readArguments();
// As with `--list | head`: who reads no further has all that it wanted.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 2));

process.exitCode = await main().catch((error: unknown) => {
  if (!(error instanceof CannotRun)) return fail(error instanceof Error ? error.message : String(error));
  process.stdout.write(`skipped: ${error.message}\n`);
  return 0;
});

function readArguments() {
  try {
    return parseArgs({
      options: {
        image: { type: 'string', multiple: true, default: [] },
        only: { type: 'string', multiple: true, default: [] },
        again: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        sample: { type: 'boolean', default: false },
        seed: { type: 'string' },
        minutes: { type: 'string' },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    process.exit(fail(error instanceof Error ? error.message : String(error)));
  }
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const images = chooseImages(values.image);
  // npm runs scripts in the project's folder.
  const suites = chooseSuites(listSuites(process.cwd()), values.only);
  if (suites.length === 0) return fail(`no suite has ${values.only.join(' or ')} in its name`);
  const hasKubernetes = (process.env['KUBEBUILDER_ASSETS'] ?? '') !== '';
  const planned = planSuites(suites, images);
  if (values.list) return list(planned);
  const all = planned.filter(({ suite }) => hasKubernetes || !suite.needs.includes('kubernetes'));
  if (all.length < planned.length)
    say('left out: suites with programs of Kubernetes, for which KUBEBUILDER_ASSETS names no folder');
  const commit = await readCommit();
  if (values.sample) {
    const seed = Number(values.seed ?? Number.parseInt(commit.slice(0, 7), 16));
    const plan = sampleSuites(suites, images, seed, await readResults(RESULTS_FILE));
    say(`seed ${seed}: ${plan.map(({ suite }) => suite.name).join('; ')} on ${plan[0]?.image ?? 'nothing'}`);
    return run(plan, { commit, keeps: false, minutes: SAMPLE_MINUTES });
  }
  const plan: PlannedSuite[] = [];
  const before = await readResults(RESULTS_FILE);
  for (const one of all) {
    if (values.again || !(await isDone(one.suite, one.image, before))) plan.push(one);
  }
  say(`${plan.length} of ${all.length} suites are to run`);
  return run(plan, { commit, keeps: true, minutes: Number(values.minutes ?? Infinity) });
}

function chooseImages(names: readonly string[]): ImageName[] {
  const unknown = names.filter((name) => !IMAGES.includes(name as ImageName));
  if (unknown.length > 0) throw new Error(`no image is called ${unknown.join(', ')}: ${IMAGES.join(', ')}`);
  return IMAGES.filter((name) => names.length === 0 || names.includes(name));
}

async function list(plan: readonly PlannedSuite[]): Promise<number> {
  const results = await readResults(RESULTS_FILE);
  for (const { image, suite } of plan) {
    const own = results.filter((result) => result.image === image && result.suite === suite.name);
    const count = (verdict: string): number => own.filter((result) => result.verdict === verdict).length;
    const counts = `${count('passed')} passed, ${count('failed')} failed, ${count('not judged')} not judged`;
    const state = own.length === 0 ? 'never run' : (await isDone(suite, image, results)) ? 'done' : counts;
    process.stdout.write(`${image.padEnd(12)} ${suite.name.padEnd(44)} ${state}\n`);
  }
  return 0;
}

/** Runs the suites, one machine at a time, until all of them ran, the time is over, or Ctrl-C. */
async function run(
  plan: readonly PlannedSuite[],
  { commit, keeps, minutes }: { commit: string; keeps: boolean; minutes: number },
): Promise<number> {
  if (plan.length === 0) return 0;
  const beganAt = performance.now();
  const signal = interrupted();
  await ensureHostTools(say);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'podloop-machines-'));
  const counts = { passed: 0, failed: 0, 'not judged': 0 };
  try {
    say('packing the project');
    const needs = new Set(plan.flatMap(({ suite }) => suite.needs));
    const kubernetes = needs.has('kubernetes') ? process.env['KUBEBUILDER_ASSETS'] : undefined;
    const payload = await makePayload(process.cwd(), folder, {
      ...{ signal, kubernetes, packages: needs.has('packages'), release: needs.has('release') },
    });
    for (const name of IMAGES) {
      const own = plan.filter(({ image }) => image === name).map(({ suite }) => suite);
      if (own.length === 0) continue;
      const cache = findCacheFolder(process.env);
      const image = await provideImage(name, { cache, say, signal });
      const rootTar = async (): Promise<string> => provideRootTar(cache, say, signal);
      await using session = new MachineSession({ image, payload, rootTar, folder, say, signal });
      for (const suite of own) {
        const tookMinutes = (performance.now() - beganAt) / 60_000;
        if (tookMinutes >= minutes) {
          say(`the time is over: ${suite.name} and what comes after it were not run`);
          break;
        }
        const results = await session.runSuite(suite, Math.min(suite.limitMinutes, minutes - tookMinutes));
        for (const result of results) counts[result.verdict]++;
        report(name, suite.name, results);
        if (keeps) await keepResults(results, { image: name, suite: suite.name, commit });
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    say('interrupted: the results so far are kept');
    return 130;
  } finally {
    if (values.keep) say(`consoles and reports: ${folder}`);
    else await rm(folder, { recursive: true, force: true });
  }
  const said = Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`);
  process.stdout.write(`${said.join(', ')}\n`);
  return counts.failed === 0 ? 0 : 1;
}

function report(image: ImageName, suite: string, results: readonly TestResult[]): void {
  for (const { title, verdict, seconds, reason } of results) {
    process.stdout.write(`${image} ${suite}: ${verdict}: ${title} (${seconds} s)\n`);
    if (reason !== undefined) process.stdout.write(`    ${reason.replaceAll('\n', '\n    ')}\n`);
  }
}

function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort());
  return controller.signal;
}

function say(sentence: string): void {
  process.stderr.write(`[${new Date().toTimeString().slice(0, 8)}] ${sentence}\n`);
}

function fail(sentence: string): number {
  process.stderr.write(`test:machine: ${sentence}\n`);
  return 2;
}
