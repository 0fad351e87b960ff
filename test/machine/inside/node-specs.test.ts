/**
 * Specs of Kubernetes' e2e_node suite about how a node protects itself, played by the real kubelet and then by podloop in its place on
 * the same containerd. A test for each spec, which is judged where the kubelet passes it: what that one fails says more of the emulated
 * machine than of either.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { specName } from '../../e2e/spec-choice.js';
import { type SpecResult } from '../../critest/spec-report.js';
import { NodeSuite } from './node-suite.js';

const ASSETS = process.env['KUBEBUILDER_ASSETS'] ?? '';
/** As `pids_test.go,swap_test.go`. */
const FILES = (process.env['PODLOOP_NODE_SPECS'] ?? '').split(',');

/** The suite is over before the tests are known: their names are those of its specs. */
const { kubelet, podloop } = await runBoth();

it('specs ran, with each of the two', () => {
  expect(kubelet.length).toBeGreaterThan(0);
  expect(podloop.map(specName)).toEqual(kubelet.map(specName));
});

// Not by `each`, which cuts names.
for (const result of kubelet.filter(({ state }) => state !== 'skipped')) {
  const name = specName(result);
  it(name, () => {
    const own = podloop.find((one) => specName(one) === name);
    if (result.state !== 'passed')
      throw new Error(`not judged here: the kubelet ${describe(result)}; podloop ${describe(own)}`);
    expect(own?.state, `the kubelet passed, podloop ${describe(own)}`).toBe('passed');
  });
}

async function runBoth(): Promise<Record<'kubelet' | 'podloop', readonly SpecResult[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-node-specs-'));
  try {
    await using suite = await NodeSuite.start(folder, ASSETS);
    return {
      kubelet: await suite.run('kubelet', FILES),
      podloop: await suite.run('podloop', FILES),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function describe(result: SpecResult | undefined): string {
  if (result === undefined) return 'did not come to it';
  return result.state === 'passed' ? 'passed' : `${result.state}: ${result.message.slice(0, 200)}`;
}
