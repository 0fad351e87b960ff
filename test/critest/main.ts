/**
 * `npm run test:critest`: holds the embedded runtime against CRI's public validation suite.
 *
 * In: the binary `critest` of kubernetes-sigs/cri-tools, from `CRITEST` or the PATH; root; a busybox (see
 * base-programs.ts). Out: the number of passes, what did not pass, and with `--write` the page
 * docs/reference/conformance.md. Exit code 1 when a spec that the page calls passed is not; 2 when it could not run.
 *
 * @module
 */
import { access, constants, mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { findProgram } from '../build-state.js';
import { CONFORMANCE_PAGE, readPart, writePart } from '../conformance-part.js';
import { findBasePrograms } from './base-programs.js';
import { formatConformancePage, pageNameOf, parsePassed } from './conformance-page.js';
import { runCritest } from './critest-run.js';
import { startImageMirror } from './image-mirror.js';
import { readRunFacts } from './run-facts.js';
import { preparePrivateNode, runInPrivateNode } from './private-node.js';
import { countPasses, type SpecResult } from './spec-report.js';
import { makeTestImages } from './test-images.js';

const HELP = `Usage: npm run test:critest -- [options] [arguments of critest]

  --write     keep the results: ${CONFORMANCE_PAGE}
  --keep      keep the folder with the logs and the report
  --help      this text

Needs root, and the binary critest of kubernetes-sigs/cri-tools (its releases have it), named by CRITEST or in the
PATH. Arguments after a further -- go to critest: npm run test:critest -- -- -ginkgo.focus=Idempotence
`;

const { values, positionals } = readArguments();

process.exitCode = await main().catch((error: unknown) =>
  fail(error instanceof Error ? error.message : String(error)),
);

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        write: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
        // Of the run in the private node: where everything is prepared.
        inside: { type: 'string' },
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
  if (values.write && positionals.length > 0) return fail('--write is for the whole suite only');
  const critest = await findCritest();
  if (critest === undefined)
    return fail(
      'no critest: name the binary in CRITEST or put it into the PATH (kubernetes-sigs/cri-tools has it)',
    );
  if (process.getuid?.() !== 0)
    return fail('must run as root: the suite is about namespaces, mounts and users');
  return values.inside === undefined ? prepareAndRun() : run(critest, values.inside);
}

/** Makes the images while the machine's network is there, and leaves the rest to a run in a private node. */
async function prepareAndRun(): Promise<number> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'podloop-critest-'));
  try {
    const programs = await findBasePrograms(folder, process.env['PATH'] ?? '');
    await makeTestImages(path.join(folder, 'images'), programs);
    const options = values.write ? ['--write'] : [];
    return await runInPrivateNode(import.meta.url, [...options, '--inside', folder, '--', ...positionals]);
  } finally {
    if (values.keep) process.stderr.write(`logs and report: ${folder}\n`);
    else await rm(folder, { recursive: true, force: true });
  }
}

async function run(critest: string, folder: string): Promise<number> {
  await preparePrivateNode();
  // npm runs scripts in the project's folder.
  const project = process.cwd();
  const registryConfig = path.join(folder, 'certs.d');
  await using mirror = await startImageMirror(path.join(folder, 'images', 'critest'), registryConfig);
  const results = await runCritest({
    ...{ critest, folder, registryConfig, suiteArgs: positionals },
    podloop: findProgram(project),
    signal: interrupted(),
  });
  process.stdout.write(`${mirror.count('GET ')} requests to the mirror\n`);
  const page = path.join(project, CONFORMANCE_PAGE);
  const passedBefore = parsePassed(readPart(await readFile(page, 'utf8'), 'critest'));
  if (values.write)
    await writePart(page, 'critest', formatConformancePage(results, await readRunFacts(critest)));
  return report(results, passedBefore);
}

function report(results: readonly SpecResult[], passedBefore: ReadonlySet<string>): number {
  const { conformance, all } = countPasses(results);
  for (const { state, path: texts, message } of results)
    if (state === 'failed')
      process.stdout.write(`not passed: ${texts.join(': ')}\n    ${firstLines(message)}\n`);
  process.stdout.write(
    `${conformance.passed} of ${conformance.all} [Conformance], ${all.passed} of ${all.all} in all\n`,
  );
  // What was not asked for is skipped, too.
  const whole = positionals.length === 0;
  const lost = results.filter(
    (result) =>
      (result.state === 'failed' || (whole && result.state === 'skipped')) &&
      passedBefore.has(pageNameOf(result)),
  );
  for (const result of lost) process.stdout.write(`passed before: ${pageNameOf(result)}\n`);
  return lost.length === 0 ? 0 : 1;
}

function firstLines(message: string): string {
  return message.split('\n').slice(0, 6).join('\n    ').slice(0, 600);
}

async function findCritest(): Promise<string | undefined> {
  const named = process.env['CRITEST'];
  const candidates =
    named === undefined || named === ''
      ? (process.env['PATH'] ?? '').split(':').map((entry) => path.join(entry, 'critest'))
      : [path.resolve(named)];
  for (const candidate of candidates) {
    const found = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  return undefined;
}

function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

function fail(sentence: string): number {
  process.stderr.write(`test:critest: ${sentence}\n`);
  return 2;
}
