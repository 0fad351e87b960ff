/**
 * `npm run test:e2e`: holds podloop, as the node of a real control plane, against Kubernetes' own e2e suite.
 *
 * In: the programs of a control plane and of the suite (see README.md), a containerd as scripts/containerd/install.mjs
 * leaves it, root. Out: what did not pass, the results as JSON, and with `--write` the part of
 * docs/reference/conformance.md that is about it. Exit code 1 when a spec that the page calls passed is not; 2 when it
 * could not run. Everything that a run starts is in namespaces of its own and gone after it.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';

import { findProgram } from '../build-state.js';
import { findClusterBinaries } from '../cluster/harness/cluster-binaries.js';
import { ControlPlane } from '../cluster/harness/control-plane.js';
import { type ContainerdOptions } from '../containerd/harness/containerd.js';
import { readInstalled, RELEASES } from '../containerd/harness/installed.js';
import { removeAbandonedInstances } from '../containerd/harness/leftovers.js';
import { preparePrivateNode, runInPrivateNode } from '../critest/private-node.js';
import { type SpecResult } from '../critest/spec-report.js';
import { CONFORMANCE_PAGE, readPart, writePart } from '../conformance-part.js';
import { formatE2ePart, parseE2ePart } from './e2e-part.js';
import { type E2ePrograms, findE2ePrograms } from './e2e-programs.js';
import { type ProgressStep } from './ginkgo-progress.js';
import { PodloopNode } from './podloop-node.js';
import { keepResults, readCommit, readResults } from './kept-results.js';
import { readRunFacts } from './run-facts.js';
import { sampleSpecs, specName } from './spec-choice.js';
import { StandInContainerd } from './stand-in-containerd.js';
import { listSpecs, runSuite } from './suite-run.js';

const HELP = `Usage: npm run test:e2e -- [options]

  --focus <regexp>    only specs whose name matches
  --sample <n>        only so many of them, by chance
  --seed <n>          chance: the same seed takes the same specs (default: 1)
  --procs <n>         specs that run beside one another (default: 4)
  --containerd <v>    the release of containerd, as the tests on containerd name them (default: 1.7)
  --cgroup-driver <d> cgroupfs or systemd, of that containerd (default: cgroupfs)
  --oci-runtime <f>   what that containerd makes containers with (default: runc)
  --list              names the specs and runs none
  --results <file>    keeps the results there, with those of earlier runs that this one has no newer ones of
  --write             and writes their part of ${CONFORMANCE_PAGE}; needs --results, and a result of every spec
  --keep              keeps the folder with all logs
  --help              this text

Needs root, kube-apiserver and others in the folder that KUBEBUILDER_ASSETS names, and e2e.test, ginkgo and agnhost there
or in the folder that E2E_ASSETS names.
`;

const { values } = readArguments();

process.exitCode = await main().catch((error: unknown) => fail(describeError(error)));

function readArguments() {
  try {
    return parseArgs({
      options: {
        focus: { type: 'string', default: '' },
        sample: { type: 'string' },
        seed: { type: 'string', default: '1' },
        procs: { type: 'string', default: '4' },
        containerd: { type: 'string', default: '1.7' },
        'cgroup-driver': { type: 'string', default: 'cgroupfs' },
        'oci-runtime': { type: 'string' },
        list: { type: 'boolean', default: false },
        results: { type: 'string' },
        write: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
        // Of the run in the private node: the folder for everything.
        inside: { type: 'string' },
      },
    });
  } catch (error) {
    process.exit(fail(describeError(error)));
  }
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const programs = await findE2ePrograms(process.env);
  if (values.inside !== undefined) return runInside(values.inside);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'podloop-e2e-'));
  try {
    if (values.write && values.results === undefined) return fail('--write needs --results');
    if (values.list) {
      for (const spec of chooseSpecs(await listSpecs(programs, folder)))
        process.stdout.write(`${specName(spec)}\n`);
      return 0;
    }
    const found = findClusterBinaries();
    if ('missing' in found) return fail(found.missing);
    if (process.getuid?.() !== 0) return fail('must run as root: it starts a containerd');
    await readInstalled();
    await removeAbandonedInstances();
    const code = await runInPrivateNode(import.meta.url, ['--inside', folder, ...process.argv.slice(2)]);
    if (values.write && code < 2) await writePage(programs, folder, values.results!);
    return code;
  } finally {
    if (values.keep) process.stderr.write(`logs and reports: ${folder}\n`);
    else await rm(folder, { recursive: true, force: true });
  }
}

async function runInside(folder: string): Promise<number> {
  const signal = interrupted();
  const commit = await readCommit();
  await preparePrivateNode();
  // As on a machine: mounts of pods may spread.
  await promisify(execFile)('mount', ['--make-rshared', '/']);
  const programs = await findE2ePrograms(process.env);
  const found = findClusterBinaries();
  if ('missing' in found) return fail(found.missing);
  const { busybox } = await readInstalled();
  const specs = chooseSpecs(await listSpecs(programs, folder));
  if (specs.length === 0) return fail('no spec matches');
  say(`${specs.length} specs; making images for a containerd`);
  await using standIns = await StandInContainerd.start({
    ...{ folder, programs, images: { busybox }, containerd: chooseContainerd() },
  });
  const { containerd } = standIns;
  say('starting etcd, the control plane and podloop');
  await using plane = await ControlPlane.start(found);
  // npm runs scripts in the project's folder.
  const podloop = findProgram(process.cwd());
  await using node = await PodloopNode.start({
    ...{ plane, containerd, podloop, busybox },
    folder: path.join(folder, 'node'),
  });
  say(`the node is Ready; its log is ${node.logFile}`);
  const suite = {
    ...{ programs, kubeconfig: plane.adminKubeconfig, kubectl: found.binaries.kubectl, signal },
  };
  const first = await runSuite({
    ...{ ...suite, specs, processes: Number(values.procs), folder: path.join(folder, 'suite') },
    onStep: progressOf(specs.length),
  });
  const failed = first.filter(({ state }) => state === 'failed');
  let again: SpecResult[] = [];
  if (failed.length > 0 && !signal.aborted) {
    say(`${failed.length} specs did not pass; each of them again, by itself`);
    again = await runSuite({
      ...{ ...suite, specs: failed, processes: 1, folder: path.join(folder, 'suite-again') },
      onStep: progressOf(failed.length),
    });
  }
  const results = first.map((one) => again.find((other) => specName(other) === specName(one)) ?? one);
  if (values.results !== undefined)
    await keepResults(values.results, results, { commit, repeated: new Set(again.map(specName)) });
  const code = await report(results, specs.length);
  if (results.length === specs.length) return code;
  return fail(`${specs.length - results.length} specs were not run; ${folder} says more if it is kept`);
}

function chooseContainerd(): Pick<ContainerdOptions, 'version' | 'cgroupDriver' | 'ociRuntime'> {
  const { containerd, 'cgroup-driver': driver, 'oci-runtime': ociRuntime } = values;
  const version = RELEASES.find((release) => release === containerd);
  if (version === undefined) throw new Error(`--containerd ${containerd} is none of ${RELEASES.join(', ')}`);
  if (driver !== 'cgroupfs' && driver !== 'systemd')
    throw new Error(`--cgroup-driver ${driver} is neither cgroupfs nor systemd`);
  return { version, cgroupDriver: driver, ...(ociRuntime === undefined ? {} : { ociRuntime }) };
}

function chooseSpecs(all: readonly SpecResult[]): SpecResult[] {
  const pattern = new RegExp(values.focus);
  const matching = all.filter((spec) => pattern.test(specName(spec)));
  if (values.sample === undefined) return matching;
  return sampleSpecs(matching, Number(values.sample), Number(values.seed));
}

function progressOf(count: number): (step: ProgressStep) => void {
  const beganAt = performance.now();
  return ({ ended, failed, newlyFailed }) => {
    const minutes = ((performance.now() - beganAt) / 60_000).toFixed(1);
    for (const name of newlyFailed) say(`not passed: ${name}`);
    say(`[${ended}/${count}, ${failed} not passed, ${minutes} min]`);
  };
}

/** Says what did not pass; 1 when the page says of any of them that it passes. */
async function report(results: readonly SpecResult[], asked: number): Promise<number> {
  const part = readPart(await readFile(CONFORMANCE_PAGE, 'utf8'), 'e2e');
  const passedBefore = new Set(parseE2ePart(part).flatMap(({ name, passed }) => (passed ? [name] : [])));
  let lost = 0;
  for (const result of results) {
    if (result.state === 'passed') continue;
    const name = specName(result);
    process.stdout.write(`${result.state}: ${name}\n    ${result.place}: ${firstLines(result.message)}\n`);
    if (!passedBefore.has(name)) continue;
    lost++;
    process.stdout.write(`    passed before: ${CONFORMANCE_PAGE}\n`);
  }
  const passed = results.filter(({ state }) => state === 'passed').length;
  process.stdout.write(`${passed} of ${asked} passed\n`);
  return lost === 0 ? 0 : 1;
}

async function writePage(programs: E2ePrograms, folder: string, file: string): Promise<void> {
  const known = new Map((await readResults(file)).map((result) => [specName(result), result]));
  const specs = await listSpecs(programs, folder);
  const missing = specs.filter((spec) => !known.has(specName(spec)));
  if (missing.length > 0)
    throw new Error(
      `${file} lacks ${missing.length} specs: ${missing.map(specName).join('; ').slice(0, 500)}`,
    );
  const results = specs.map((spec) => known.get(specName(spec))!);
  await writePart(CONFORMANCE_PAGE, 'e2e', formatE2ePart(results, await readRunFacts(programs)));
}

function firstLines(message: string): string {
  return message.split('\n').slice(0, 12).join('\n    ').slice(0, 1_500);
}

function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => controller.abort());
  return controller.signal;
}

function say(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describeError(error.cause)}`;
}

function fail(sentence: string): number {
  process.stderr.write(`test:e2e: ${sentence}\n`);
  return 2;
}
