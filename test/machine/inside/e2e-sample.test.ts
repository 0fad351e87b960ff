/**
 * Specs of Kubernetes' e2e suite by chance, marked `[NodeConformance]`, with podloop on the machine's containerd as the node of a
 * control plane in the same machine. A test for each spec.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readResults } from '../../e2e/kept-results.js';
import { specName } from '../../e2e/spec-choice.js';
import { type SpecResult } from '../../critest/spec-report.js';
import { CGROUP_DRIVER, OCI_RUNTIME, RELEASE } from './node-containerd.js';

const PROGRAM = 'node_modules/.cache/podloop-e2e/test/e2e/main.js';
const COUNT = 20;
const SEED = 20;

/** The suite is over before the tests are known: their names are those of its specs. */
const results = await runSample();

it(`${COUNT} specs ran`, () => {
  expect(results).toHaveLength(COUNT);
});

it.each(results.map((result) => ({ name: specName(result), result })))('$name', ({ result }) => {
  expect(result.state, result.message).toBe('passed');
});

async function runSample(): Promise<readonly SpecResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-e2e-sample-'));
  try {
    const file = join(folder, 'results.json');
    const { ociRuntime } = { ociRuntime: undefined, ...OCI_RUNTIME };
    const args = [
      ...[PROGRAM, '--sample', String(COUNT), '--seed', String(SEED), '--procs', '2', '--results', file],
      ...['--containerd', RELEASE, '--cgroup-driver', CGROUP_DRIVER],
      ...(ociRuntime === undefined ? [] : ['--oci-runtime', ociRuntime]),
    ];
    // What did not pass is in the results; whatever else went wrong shows in their number.
    await new Promise<void>((resolve) => {
      execFile(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }, (_, stdout, stderr) => {
        process.stdout.write(`${stdout}\n${stderr}\n`);
        resolve();
      });
    });
    return await readResults(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
