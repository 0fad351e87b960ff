import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { askPort, findFreePort } from '../../src/testing/tcp-client.js';
import { LocalApiClient } from './local-api-client.js';
import { PodloopProcess } from './podloop-process.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-servers-'));
  await mkdir(join(folder, 'manifests'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

function start(...more: readonly string[]): PodloopProcess {
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  return new PodloopProcess(['run', join(folder, 'manifests'), ...more, ...place, ...runtime]);
}

it('an agent is asked for its health and metrics at a port, and for all else at its socket', async () => {
  const [port, health] = [await findFreePort(), await findFreePort()];
  await using agent = start('--read-only-port', String(port), '--healthz-port', String(health));
  await agent.line('stderr', /"Started node agent"/);
  await expect.poll(async () => (await askPort(port, '/healthz')).text, { timeout: 20_000 }).toBe('ok');
  const lines = '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]runtime ok\n[+]pleg ok\nhealthz check passed\n';
  expect((await askPort(health, '/healthz?verbose')).text).toBe(lines);
  expect((await askPort(port, '/metrics')).text).toContain('\nkubelet_pleg_relist_duration_seconds_count ');
  expect((await askPort(port, '/configz')).code).toBe(404);
  const api = new LocalApiClient(join(folder, 'node/podloop.sock'));
  expect(await api.json('/configz')).toMatchObject({
    kubeletconfig: { readOnlyPort: port, healthzPort: health },
  });
  await using second = new PodloopProcess([
    ...['run', join(folder, 'manifests'), '--read-only-port', String(port), '--runtime-endpoint'],
    ...[join(folder, 'node/runtime/cri.sock'), '--root-dir', join(folder, 'other')],
    ...['--pod-logs-dir', join(folder, 'other-logs')],
  ]);
  expect(await second.ended).toMatchObject({ code: 1 });
  expect(second.stderr.join('\n')).toMatch(
    new RegExp(`--read-only-port: 127.0.0.1:${port} cannot be used: .*\\(process ${agent.child.pid}\\)`),
  );
});
