/** What an agent says of pulls that take their time, or that a verifier refuses. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { LocalApiClient } from './local-api-client.js';
import { PodloopProcess } from './podloop-process.js';

let folder: string;
let registry: FakeRegistry;
let agent: PodloopProcess;
let api: LocalApiClient;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-pull-progress-'));
  registry = await FakeRegistry.start();
  const layers = [[{ name: 'data', content: randomBytes(4_000_000) }]];
  const { manifest } = registry.layout.addManifest({ layers, config: { Cmd: ['/x'] } });
  registry.tag('app:1', manifest);
  await mkdir(join(folder, 'pods'));
  const containers = [{ name: 'main', image: `${registry.host}/app:1` }];
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { containers } };
  await writeFile(join(folder, 'pods/web.yaml'), JSON.stringify(pod));
});

afterEach(async () => {
  await agent.end('SIGTERM');
  await registry[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function run(...more: string[]): void {
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host', ...more];
  agent = new PodloopProcess([
    ...['run', join(folder, 'pods'), ...place, ...runtime, '--node-name', 'test', '--stop-pods'],
  ]);
  api = new LocalApiClient(join(folder, 'node/podloop.sock'));
}

/** Why the container waits. */
async function waiting(): Promise<string> {
  const { status } = (await api.json('/api/v1/namespaces/default/pods/web-test').catch(() => ({}))) as {
    status?: { containerStatuses?: { state: { waiting?: { reason: string; message?: string } } }[] };
  };
  const { reason, message } = status?.containerStatuses?.[0]?.state.waiting ?? {};
  return `${reason}: ${message}`;
}

it('shows in the status of a pod how far the pull of its image is', async () => {
  let send = (): void => undefined;
  registry.answerers.push(({ url = '' }, response) => {
    const [, digest = ''] = /\/blobs\/sha256:(\w+)/.exec(url) ?? [];
    const content = registry.layout.toFiles().get(`blobs/sha256/${digest}`);
    if (content === undefined || content.length < 4_000_000) return false;
    // Half of it, and the rest when the test says so.
    response.writeHead(200, { 'content-length': content.length });
    response.write(content.subarray(0, content.length / 2));
    send = () => void response.end(content.subarray(content.length / 2));
    return true;
  });
  run();
  await expect
    .poll(waiting, { timeout: 60_000 })
    .toMatch(/^ContainerCreating: Pulling \d+% \(\d\.\d\/4\.0 MB\)$/);
  const metrics = (await api.ask('/metrics')).text;
  expect(metrics).toMatch(/^podloop_image_pulls_in_progress 1$/m);
  expect(Number(/^podloop_image_pull_bytes (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(4_000_000);
  expect(Number(/^podloop_image_pull_fetched_bytes (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
  send();
  await expect.poll(waiting, { timeout: 60_000 }).not.toContain('Pulling');
});

it('shows in the status of a pod why a verifier refuses its image, of which no layer is fetched', async () => {
  const verifiers = join(folder, 'verifiers');
  await mkdir(verifiers);
  const refuse = '#!/bin/sh\necho "no signature for $2"\nexit 1\n';
  await writeFile(join(verifiers, 'signed'), refuse, { mode: 0o755 });
  run('--image-verifier-bin-dir', verifiers);
  const image = `${registry.host}/app:1`;
  let said = '';
  const isRefused = async (): Promise<boolean> =>
    (said = await waiting()).includes('SignatureValidationFailed');
  await expect.poll(isRefused, { timeout: 60_000 }).toBe(true);
  expect(said).toContain(`image pull failed for ${image} because the signature validation failed: `);
  expect(said).toContain(`the verifier signed refuses it (exit code 1): no signature for ${image}`);
  // Its documents, to know what it is.
  expect(registry.count('/blobs/')).toBe(1);
  await writeFile(join(verifiers, 'signed'), '#!/bin/sh\n', { mode: 0o755 });
  await expect.poll(() => registry.count('/blobs/'), { timeout: 120_000 }).toBeGreaterThan(1);
  // The next attempt is some seconds later.
}, 240_000);
