import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
} from '#support/harness/agent-command-harness.js';
import { sendStatus } from '#support/fakes/fake-agent-server.js';
import { FakeClock } from '#testing/fake-clock.js';

let lab: AgentCommandHarness;
beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  const { agent } = lab;
  const limited = { name: 'main', resources: { limits: { memory: '64Mi' } } };
  const pods = [
    aKubePod('web', { spec: { containers: [limited, { ...limited, name: 'side' }] } }),
    aKubePod('db', { spec: { containers: [limited, { name: 'side' }] } }),
    aKubePod('new'),
  ];
  agent.on(`GET ${PODS_PATH}`, () => aKubeList(...pods));
  agent.on(`GET ${PODS_PATH}/web`, () => pods[0]!);
  agent.on('GET /api/v1/nodes', () => aKubeList({ status: { capacity: { memory: '2Gi' } } }));
  agent.on('GET /stats/summary', () => SUMMARY);
  agent.on('GET /metrics/cadvisor', (_, answer) => void answer.end(CADVISOR));
});
afterEach(() => lab[Symbol.asyncDispose]());

const stats = (cores: number, bytes: number): object => ({
  cpu: { time: '2026-01-01T00:10:00Z', usageNanoCores: cores * 1e9, usageCoreNanoSeconds: 1 },
  memory: { workingSetBytes: bytes },
});
const SUMMARY = {
  pods: [
    {
      podRef: { namespace: 'default', name: 'web' },
      ...stats(1.5, 32 * 2 ** 20),
      network: { rxBytes: 788, txBytes: 1_234_567 },
      process_stats: { process_count: 3 },
      containers: [
        { name: 'main', ...stats(1.5, 796 * 1024) },
        { name: 'side', ...stats(0, 0) },
      ],
    },
    { podRef: { namespace: 'default', name: 'db' }, ...stats(0.0007, 1536 * 2 ** 20), containers: [] },
    { podRef: { namespace: 'default', name: 'of-others' }, ...stats(1, 1) },
  ],
};
/** Two disks of one container; the sums of the pod and of the node are left out. */
const CADVISOR = [
  'container_fs_reads_bytes_total{container="main",device="/dev/a",id="/x",namespace="default",pod="web"} 3e+06 1',
  'container_fs_reads_bytes_total{container="main",device="/dev/b",id="/x",namespace="default",pod="web"} 568000 1',
  'container_fs_writes_bytes_total{container="main",device="/dev/a",id="/x",namespace="default",pod="web"} 512000 1',
  'container_fs_reads_bytes_total{container="",id="/",namespace="default",pod="web"} 999 1',
  'container_processes{container="main",id="/x",namespace="default",pod="web"} 2 1',
  '',
].join('\n');

async function table(...args: string[]): Promise<string[][]> {
  const { code, stdout, stderr } = await lab.start(['stats', ...args]).ended;
  expect([code, stderr]).toEqual([0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/\s{2,}/));
}

describe('podloop stats', () => {
  it('prints one table of pods into a pipe', async () => {
    expect(await table()).toEqual([
      ['POD', 'CPU %', 'MEM USAGE / LIMIT', 'MEM %', 'NET I/O', 'BLOCK I/O', 'PIDS'],
      ['db', '0.07%', '1.5GiB / 2GiB', '75.00%', '-- / --', '-- / --', '--'],
      ['web', '150.00%', '32MiB / 128MiB', '25.00%', '788B / 1.235MB', '3.568MB / 512kB', '3'],
    ]);
  });

  it('has a row for each container', async () => {
    expect(await table('web', '--containers')).toEqual([
      ['POD', 'CONTAINER', 'CPU %', 'MEM USAGE / LIMIT', 'MEM %', 'BLOCK I/O', 'PIDS'],
      ['web', 'main', '150.00%', '796KiB / 64MiB', '1.21%', '3.568MB / 512kB', '2'],
      ['web', 'side', '0.00%', '0B / 64MiB', '0.00%', '-- / --', '--'],
    ]);
  });

  it('prints numbers for a program', async () => {
    const { stdout } = await lab.start(['stats', 'web', '-o', 'json']).ended;
    expect(JSON.parse(stdout)).toEqual([
      {
        ...{ namespace: 'default', pod: 'web', cpuPercent: 150, memoryBytes: 32 * 2 ** 20 },
        ...{ limitBytes: 128 * 2 ** 20, receivedBytes: 788, sentBytes: 1_234_567 },
        ...{ readBytes: 3_568_000, writtenBytes: 512_000, processes: 3 },
      },
    ]);
  });

  it('is drawn again at a terminal until Ctrl-C', async () => {
    const written: string[] = [];
    const terminal = {
      ...{ columns: 120, rows: 10, write: (text: string) => void written.push(text) },
      ...{ onResize: () => () => undefined, onExit: () => () => undefined },
    };
    const interrupted = new AbortController();
    const ended = lab.start(['stats'], {
      more: { terminal, listenForInterrupts: () => interrupted.signal },
    }).ended;
    await expect.poll(() => written.join('')).toContain('150.00%');
    expect(written.join('')).toMatch(/podloop stats {3}\d\d:\d\d:\d\d {3}Ctrl-C ends it/);
    interrupted.abort();
    expect((await ended).code).toBe(130);
    // The terminal is as it was.
    expect(written.at(-1)).toContain('\u001b[?1049l');
  });

  it('goes on with its last numbers while the agent is too busy', async () => {
    const written: string[] = [];
    const terminal = {
      ...{ columns: 120, rows: 10, write: (text: string) => void written.push(text) },
      ...{ onResize: () => () => undefined, onExit: () => () => undefined },
    };
    const clock = new FakeClock();
    const interrupted = new AbortController();
    const ended = lab.start(['stats'], {
      more: { terminal, clock, listenForInterrupts: () => interrupted.signal },
    }).ended;
    await expect.poll(() => written.join('')).toContain('150.00%');
    lab.agent.on('GET /stats/summary', (_, answer) => sendStatus(answer, 504, 'Timeout', 'it is late'));
    await clock.advance(2_000);
    await expect.poll(() => written.join('')).toContain('The agent is too busy to answer');
    interrupted.abort();
    expect((await ended).code).toBe(130);
  });

  it('says how old numbers are that the runtime has not measured since', async () => {
    lab.agent.on('GET /stats/summary', () => ({
      ...SUMMARY,
      node: { nodeName: 'n1', cpu: { time: '2026-01-01T00:11:00Z' } },
    }));
    const { code, stderr } = await lab.start(['stats']).ended;
    expect([code, stderr]).toEqual([
      0,
      'The numbers of 2 pods are up to 60s old: the runtime has not measured since\n',
    ]);
  });

  it.each([
    [['web', '-A'], 'name the pods, or choose them by --selector or --all-namespaces, not both'],
    [['-o', 'yaml'], "unexpected -o output mode: yaml. We only support '-o json'"],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await lab.start(['stats', ...args]).ended;
    expect([code, stderr]).toEqual([1, `error: ${words}\n`]);
  });
});
