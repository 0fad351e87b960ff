/**
 * The example with Services, as it is shipped: two web servers and a store that counts, on the embedded runtime.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { patiently } from '#support/patience.js';
import { whyNoNetworkHarness } from './network-harness.js';
import { PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/services', import.meta.url));
const LIMIT = { timeout: patiently(120_000), interval: 500 };
const lacking = whyNoNetworkHarness();

let folder: string;
let agent: PodloopProcess;

const podloop = async (...args: string[]) =>
  runPodloop(args, { env: { PODLOOP_SOCKET: join(folder, 'node/podloop.sock') } });
const printed = async (...args: string[]): Promise<string> => {
  const { stdout, stderr, code } = await podloop(...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.trim();
};

/** What the machine is answered by the Service. */
function visit(host: string): Promise<string> {
  return new Promise((resolve) => {
    const asked = request({ host, agent: false, timeout: 10_000 }, (answer) => resolve(text(answer)));
    asked.on('error', ({ message }) => resolve(message));
    asked.on('timeout', () => asked.destroy(new Error('late'))).end();
  });
}

const countOf = (answer: string): number => Number(/^visit (\d+), served by web-/.exec(answer)?.[1]);
const untilReady = (): Promise<void> =>
  vi.waitFor(async () => {
    const rows = (await printed('get', 'pods', '--no-headers')).split('\n');
    expect(rows.filter((row) => /\s1\/1\s/.test(row))).toHaveLength(3);
  }, LIMIT);

describe.skipIf(lacking !== undefined)('examples/services', () => {
  let address: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-services-example-'));
    const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
    const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'namespaces', '--network', 'bridge'];
    agent = new PodloopProcess(['run', EXAMPLE, ...place, ...runtime, '--node-name', 'n1']);
    await untilReady();
    address = await printed('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
  }, patiently(150_000));

  afterAll(async () => {
    await podloop('down', '--yes', '--root-dir', join(folder, 'node'));
    await agent.end('SIGTERM');
    await untilNobodyNames(folder);
    await rm(folder, { recursive: true });
  }, patiently(120_000));

  it('is what an agent accepts, without a warning', async () => {
    const { code, stdout, stderr } = await podloop('validate', EXAMPLE);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toContain('warning');
  });

  it('counts visits whichever server answers', { timeout: patiently(120_000) }, async () => {
    const answers = [];
    for (let index = 0; index < 20; index++) answers.push(await visit(address));
    const first = countOf(answers[0]!);
    expect(answers.map(countOf)).toEqual(answers.map((_, index) => first + index));
    expect(new Set(answers.map((answer) => answer.replace(/^.* /, ''))).size).toBe(2);
  });

  it('goes on counting after the store was replaced', { timeout: patiently(240_000) }, async () => {
    const before = countOf(await visit(address));
    await printed('restart', 'store-0');
    await untilReady();
    await vi.waitFor(async () => expect(countOf(await visit(address))).toBeGreaterThan(before), LIMIT);
  });
});
