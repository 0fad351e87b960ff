import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { parseSpecReport, type SpecResult } from './spec-report.js';

/** What one run of the suite needs; paths absolute. */
export interface CritestRun {
  readonly critest: string;
  /** The built command line. */
  readonly podloop: string;
  /** Empty; the runtime's records, the reports and all logs go here. */
  readonly folder: string;
  /** Where the runtime finds the `hosts.toml` of its registries. */
  readonly registryConfig: string;
  /** More arguments for the suite, such as `-ginkgo.focus=...`. */
  readonly suiteArgs: readonly string[];
  readonly signal: AbortSignal;
}

const SUITE_LIMIT_MS = 40 * 60_000;
const RUNTIME_START_MS = 30_000;
const RUNTIME_END_MS = 60_000;

/**
 * Starts `podloop runtime`, runs the suite against it, and ends the runtime with whatever pods failed specs left.
 * Rejects when either does not start; failing specs are a result.
 */
export async function runCritest(options: CritestRun): Promise<SpecResult[]> {
  const { folder } = options;
  const endpoint = `unix://${folder}/cri.sock`;
  const runtime = await startRuntime(options, endpoint);
  try {
    const report = path.join(folder, 'report.json');
    const images = path.join(folder, 'test-images.yaml');
    await writeFile(
      images,
      'defaultTestContainerImage: registry.k8s.io/e2e-test-images/busybox:1.29-2\n' +
        'webServerTestImage: registry.k8s.io/e2e-test-images/nginx:1.14-2\n',
    );
    const temporary = path.join(folder, 'tmp');
    await mkdir(temporary);
    const args = [
      ...[
        '-runtime-endpoint',
        endpoint,
        '-test-images-file',
        images,
        '-config',
        path.join(folder, 'none.yaml'),
      ],
      ...['-ginkgo.no-color', `-ginkgo.json-report=${report}`, `-ginkgo.timeout=${SUITE_LIMIT_MS / 60_000}m`],
      ...options.suiteArgs,
    ];
    const suite = spawn(options.critest, args, {
      cwd: folder,
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: options.signal,
    });
    await logged(suite, path.join(folder, 'critest.log'));
    return parseSpecReport(await readFile(report, 'utf8'));
  } finally {
    await endRuntime(runtime);
  }
}

async function startRuntime(
  { podloop, folder, registryConfig }: CritestRun,
  endpoint: string,
): Promise<ChildProcess> {
  const flags = ['--listen', endpoint, '--root', path.join(folder, 'root'), '--stop-pods', '-v', '2'];
  const args = [podloop, 'runtime', ...flags, '--registry-config-path', registryConfig];
  const runtime = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const log = path.join(folder, 'runtime.log');
  const ended = logged(runtime, log).then(
    (code) => `ended with ${code ?? 'a signal'}`,
    (error: unknown) => `did not start: ${String(error)}`,
  );
  const deadline = AbortSignal.timeout(RUNTIME_START_MS);
  const listening = (async () => {
    while (!deadline.aborted) {
      if ((await readFile(log, 'utf8').catch(() => '')).includes('"Listening"')) return undefined;
      await sleep(50);
    }
    return 'did not listen in time';
  })();
  const problem = await Promise.race([ended, listening]);
  if (problem === undefined) return runtime;
  runtime.kill('SIGKILL');
  throw new Error(`podloop runtime ${problem}:\n${await readFile(log, 'utf8')}`);
}

async function endRuntime(runtime: ChildProcess): Promise<void> {
  if (runtime.exitCode !== null || runtime.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => runtime.once('exit', () => resolve()));
  runtime.kill('SIGTERM');
  const over = new AbortController();
  const late = sleep(RUNTIME_END_MS, undefined, { signal: over.signal }).then(
    () => runtime.kill('SIGKILL'),
    () => undefined,
  );
  await ended;
  over.abort();
  await late;
}

/** Lets a program's output go into a file; resolves with its exit code, null after a signal. */
async function logged(child: ChildProcess, file: string): Promise<number | null> {
  const log = createWriteStream(file);
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });
  try {
    return await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
  } finally {
    log.end();
  }
}
