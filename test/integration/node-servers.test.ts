import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
import { LocalApiClient } from './local-api-client.js';
import { PodloopProcess } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

/** On a loaded machine, too. */
const SOON = { timeout: 20_000 };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-servers-'));
  await mkdir(join(folder, 'manifests'));
});
afterEach(async () => {
  // What a failed test has left keeps its runtime; else that is just ending with its agent.
  const client = new CriClient({ endpoint: `unix://${join(folder, 'node/runtime/cri.sock')}` });
  try {
    const { items } = await client.listPodSandbox({});
    await Promise.all(items.map(({ id }) => client.removePodSandbox({ podSandboxId: id })));
  } catch {
    // The runtime has ended with its agent.
  } finally {
    client.close();
  }
  await untilNobodyNames(folder);
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

const MANIFEST = `
apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: podloop.local/host
      command: [sh, -c, 'echo first; echo second; exec sleep 1000']
      env: [{ name: PASSWORD, value: pa55 }]
`;

it('an agent shows a kubelet’s pages to who has a token, over TLS', async () => {
  const port = await findFreePort();
  const tokens = join(folder, 'tokens');
  await writeFile(tokens, 'a-t0ken,ops,1\n', { mode: 0o600 });
  await mkdir(join(folder, 'log'));
  await writeFile(join(folder, 'log/syslog'), '0123456789');
  await writeFile(join(folder, 'manifests/web.yaml'), MANIFEST);
  await using agent = start(
    ...['--read-only-port', '0', '--port', String(port), '--token-auth-file', tokens, '--node-name', 'test'],
    ...['--node-logs-dir', join(folder, 'log'), '--stop-pods'],
  );
  await agent.line('stderr', /"Started node agent"/);
  const tls = { ca: await readFile(join(folder, 'node/pki/podloop.crt'), 'utf8'), rejectUnauthorized: true };
  const ask = async (path: string, headers: Record<string, string> = { Authorization: 'Bearer a-t0ken' }) =>
    askPort(port, path, { headers, tls });
  const logOf = async (query = '') => (await ask(`/containerLogs/default/web-test/main${query}`)).text;
  await expect.poll(async () => logOf(), { timeout: 30_000 }).toBe('first\nsecond\n');
  expect(await logOf('?tailLines=1')).toBe('second\n');
  expect(await ask('/containerLogs/default/other/main')).toMatchObject({
    code: 404,
    text: 'pod "other" does not exist\n',
  });
  const namesAt = async (path: string): Promise<string[]> => {
    const { items } = JSON.parse((await ask(path)).text) as { items: { metadata: { name: string } }[] };
    return items.map(({ metadata }) => metadata.name);
  };
  await expect.poll(() => namesAt('/runningpods/'), SOON).toEqual(['web-test']);
  expect(await namesAt('/pods')).toEqual(['web-test']);
  expect(await namesAt('/api/v1/pods')).toEqual(['web-test']);
  expect((await ask('/logs/')).text).toContain('<a href="./syslog">syslog</a>');
  expect(await ask('/logs/syslog', { Authorization: 'Bearer a-t0ken', Range: 'bytes=-2' })).toMatchObject({
    code: 206,
    text: '89',
  });
  expect((await ask('/events?follow=false')).text).toContain('"reason":"AgentStarted"');
  expect(JSON.parse((await ask('/debug/pleg')).text)).toMatchObject({
    stuckPods: [],
    stream: { state: 'up' },
  });
  const config = (await ask('/configz')).text;
  expect(JSON.parse(config)).toMatchObject({ kubeletconfig: { port, readOnlyPort: 0 } });
  expect(config).not.toContain('t0ken');
  expect((await ask('/healthz?verbose', {})).text).toContain('[+]pleg ok');
  for (const path of [
    '/metrics',
    '/pods',
    '/logs/syslog',
    '/events',
    '/debug/pleg',
    '/configz',
    '/api/v1/pods',
  ]) {
    expect((await ask(path, {})).code, path).toBe(403);
    expect((await ask(path, { Authorization: 'Bearer other' })).code, path).toBe(401);
  }
  await writeFile(tokens, 'an0ther,ops,1\n');
  await agent.line('stderr', /"Tokens read again"/);
  expect((await ask('/pods')).code).toBe(401);
  agent.child.kill('SIGTERM');
  expect(await agent.ended).toMatchObject({ code: 0 });
  expect(agent.stderr.join('\n')).not.toMatch(/t0ken|an0ther|pa55/);
});
