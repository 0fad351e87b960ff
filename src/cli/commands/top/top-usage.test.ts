import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  aKubeList,
  aKubePod,
  AgentCommandHarness,
  PODS_PATH,
} from '#support/harness/agent-command-harness.js';

let lab: AgentCommandHarness;
beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  const { agent } = lab;
  const node = { metadata: { name: 'n1' }, status: { capacity: CAPACITY, allocatable: ALLOCATABLE } };
  agent.on('GET /api/v1/nodes', () => aKubeList(node));
  agent.on('GET /api/v1/nodes/n1', () => node);
  agent.on('GET /stats/summary', () => SUMMARY);
  const all = [aKubePod('web-n1'), aKubePod('db-n1')];
  agent.on(`GET ${PODS_PATH}`, ({ query }) =>
    aKubeList(...(query['labelSelector'] === undefined ? all : all.slice(0, 1))),
  );
  agent.on(`GET ${PODS_PATH}/web`, () => all[0]!);
  const other = { metadata: { name: 'dns', namespace: 'kube-system' } };
  agent.on('GET /api/v1/pods', () => aKubeList(...all, other));
});
afterEach(() => lab[Symbol.asyncDispose]());

const CAPACITY = { cpu: '4', memory: '8Gi' };
const ALLOCATABLE = { cpu: '2', memory: '4Gi' };
const MIB = 2 ** 20;
const stats = (cores: number, mebibytes: number): object => ({
  cpu: { time: '2026-01-01T00:10:00Z', usageNanoCores: cores * 1e9, usageCoreNanoSeconds: 1 },
  memory: { workingSetBytes: mebibytes * MIB },
});
const SUMMARY = {
  node: { nodeName: 'n1', ...stats(0.5, 1024) },
  pods: [
    {
      podRef: { namespace: 'default', name: 'web-n1' },
      ...stats(0.0121, 30.9),
      containers: [
        { name: 'main', ...stats(0.012, 20) },
        { name: 'side', ...stats(0, 10) },
      ],
    },
    { podRef: { namespace: 'default', name: 'db-n1' }, ...stats(0.2, 20) },
    { podRef: { namespace: 'kube-system', name: 'dns' }, ...stats(1.5, 5) },
    { podRef: { namespace: 'default', name: 'of-others' }, ...stats(9, 9) },
  ],
};

/** What it prints, cell by cell. */
async function top(...args: string[]): Promise<string[][]> {
  const { code, stdout, stderr } = await lab.start(['top', ...args]).ended;
  expect([code, stderr]).toEqual([0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
}

describe('podloop top pods', () => {
  const HEAD = ['NAME', 'CPU(cores)', 'MEMORY(bytes)'];
  const WEB = ['web-n1', '13m', '30Mi'];
  const DB = ['db-n1', '200m', '20Mi'];

  it.each([
    [['pods'], [HEAD, DB, WEB]],
    [
      ['pod', 'web'],
      [HEAD, WEB],
    ],
    [['po', '-l', 'app=web', '--no-headers'], [WEB]],
    [
      ['pods', '--sort-by', 'cpu'],
      [HEAD, DB, WEB],
    ],
    [
      ['pods', '--sort-by=memory'],
      [HEAD, WEB, DB],
    ],
    [
      ['pods', '--sum'],
      [HEAD, DB, WEB, ['________', '________'], ['213m', '50Mi']],
    ],
    [
      ['pods', '-A'],
      [
        ['NAMESPACE', ...HEAD],
        ['default', ...DB],
        ['default', ...WEB],
        ['kube-system', 'dns', '1500m', '5Mi'],
      ],
    ],
    [
      ['pods', 'web', '--containers'],
      [
        ['POD', ...HEAD],
        ['web-n1', 'main', '12m', '20Mi'],
        ['web-n1', 'side', '0m', '10Mi'],
      ],
    ],
  ])('%j', async (args, rows) => {
    expect(await top(...args)).toEqual(rows);
  });
});

describe('podloop top node', () => {
  it.each([
    [[], ['25%', '25%']],
    [['n1'], ['25%', '25%']],
    [['--show-capacity'], ['12%', '12%']],
  ])('%j shows what is used, and its share', async (args, [cpu, memory]) => {
    expect(await top('node', ...args)).toEqual([
      ['NAME', 'CPU(cores)', 'CPU(%)', 'MEMORY(bytes)', 'MEMORY(%)'],
      ['n1', '500m', cpu, '1024Mi', memory],
    ]);
  });
});

describe('podloop top', () => {
  it('without a word shows the event generator, with a note', async () => {
    lab.agent.on('GET /debug/pleg', () => ({}));
    const { stderr } = await lab.start(['top', '-o', 'json']).ended;
    expect(stderr).toContain('Note: this screen is "podloop top pleg" from the next release on');
    const named = await lab.start(['top', 'pleg', '-o', 'json']).ended;
    expect(named.stderr).not.toContain('Note:');
  });

  it.each([
    [['web'], 'there is no "top web"; there are top pods, top node and top pleg. For one pod: top pod web'],
    [['pods', '--sort-by', 'worst'], '--sort-by of pods is cpu, memory, not "worst"'],
    [['pleg', 'web'], 'pleg has no names; for some pods alone use --filter'],
    [['pods', 'web', '-A'], 'only one of NAME or --selector, --all-namespaces is allowed'],
    [['pods', 'web', 'db'], 'name one pod, or choose several by --selector'],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await lab.start(['top', ...args]).ended;
    expect([code, stderr]).toEqual([1, `error: ${words}\n`]);
  });
});
