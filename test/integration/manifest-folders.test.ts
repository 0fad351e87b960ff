/**
 * Two folders of manifests and one root folder, on a real agent with the embedded runtime.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PODLOOP_MAIN, PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';
import { ProgramAtTerminal } from './program-at-terminal.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-folders-test-'));
});

afterEach(async () => {
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
}, 60_000);

async function write(name: string, script: string): Promise<string> {
  await mkdir(join(folder, name));
  const container = { name: 'main', image: 'podloop.local/host', command: ['sh', '-c', script] };
  const spec = { terminationGracePeriodSeconds: 1, restartPolicy: 'Never', containers: [container] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `${name}-pod` }, spec };
  await writeFile(join(folder, name, 'pod.json'), JSON.stringify(pod));
  return join(folder, name);
}

const flags = (): string[] => [
  ...['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs'), '--node-name', 'n1'],
  ...['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'],
];

it('never end each other’s pods, and have their own without a false alarm', async () => {
  const pods = await write('pods', 'while :; do sleep 0.2; done');
  const jobs = await write('jobs', 'true');
  const env = { PODLOOP_SOCKET: join(folder, 'node/podloop.sock') };
  const started = async (): Promise<string> => {
    const path = 'jsonpath={.status.containerStatuses[0].state.running.startedAt}';
    return (await runPodloop(['get', 'pod', 'pods-pod-n1', '-o', path], { env })).stdout;
  };
  let first = '';
  {
    await using agent = new PodloopProcess(['run', pods, ...flags()]);
    await vi.waitFor(async () => expect(await started()).not.toBe(''), { timeout: 60_000, interval: 200 });
    first = await started();
    await agent.end('SIGINT');
    expect(agent.stderr.join('\n')).not.toMatch(
      /^E\d{4}.*(PLEG is not healthy|Skipping pod synchronization)/m,
    );
    expect(agent.stderr.join('\n')).not.toContain('MissingClusterDNS');
  }
  const other = await runPodloop(['run', jobs, ...flags(), '--exit-when-done', '--stop-pods']);
  expect(other.code).toBe(1);
  expect(other.stderr).toMatch(/would end them: default\/pods-pod-n1\. Give these manifests a root folder/);
  await using agent = new PodloopProcess(['run', pods, ...flags(), '--stop-pods']);
  await vi.waitFor(async () => expect(await started()).toBe(first), { timeout: 60_000, interval: 200 });
  await agent.end('SIGINT');
});

it('that are not there are refused at a terminal and by a batch', async () => {
  const typo = join(folder, 'typo');
  const words = `${typo} does not exist: make that folder`;
  const batch = await runPodloop(['run', typo, ...flags(), '--exit-when-done']);
  expect([batch.code, batch.stderr]).toEqual([1, expect.stringContaining(words)]);
  const command = [process.execPath, PODLOOP_MAIN, 'run', typo, ...flags()].join(' ');
  await using terminal = new ProgramAtTerminal(command, {});
  expect((await terminal.ended).code).toBe(1);
  expect(terminal.text).toContain(words);
});
