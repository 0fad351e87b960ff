/** What an agent says of a pull that takes its time. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { LocalApiClient } from './local-api-client.js';
import { PodloopProcess } from './podloop-process.js';

it('shows in the status of a pod how far the pull of its image is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-pull-progress-'));
  await using registry = await FakeRegistry.start();
  const layers = [[{ name: 'data', content: randomBytes(4_000_000) }]];
  const { manifest } = registry.layout.addManifest({ layers, config: { Cmd: ['/x'] } });
  registry.tag('app:1', manifest);
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
  const manifests = join(folder, 'pods');
  await mkdir(manifests);
  const containers = [{ name: 'main', image: `${registry.host}/app:1` }];
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { containers } };
  await writeFile(join(manifests, 'web.yaml'), JSON.stringify(pod));
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  await using agent = new PodloopProcess([
    ...['run', manifests, ...place, ...runtime, '--node-name', 'test', '--stop-pods'],
  ]);
  const api = new LocalApiClient(join(folder, 'node/podloop.sock'));
  const waiting = async (): Promise<string> => {
    const { status } = (await api.json('/api/v1/namespaces/default/pods/web-test').catch(() => ({}))) as {
      status?: { containerStatuses?: { state: { waiting?: { reason: string; message?: string } } }[] };
    };
    const { reason, message } = status?.containerStatuses?.[0]?.state.waiting ?? {};
    return `${reason}: ${message}`;
  };
  try {
    await expect
      .poll(waiting, { timeout: 60_000 })
      .toMatch(/^ContainerCreating: Pulling \d+% \(\d\.\d\/4\.0 MB\)$/);
    const metrics = (await api.ask('/metrics')).text;
    expect(metrics).toMatch(/^podloop_image_pulls_in_progress 1$/m);
    expect(Number(/^podloop_image_pull_bytes (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(4_000_000);
    expect(Number(/^podloop_image_pull_fetched_bytes (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
    send();
    await expect.poll(waiting, { timeout: 60_000 }).not.toContain('Pulling');
  } finally {
    await agent.end('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  }
});
