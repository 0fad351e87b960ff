/**
 * The pictures of screens on the pages: what a terminal shows of the program.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, it } from 'vitest';
import { spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { patiently } from '#support/patience.js';
import { expectPicture } from './expect-picture.js';
import { PODLOOP_MAIN } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';
import { ProgramAtTerminal } from './program-at-terminal.js';

const EXAMPLES = fileURLToPath(new URL('../../examples/pods', import.meta.url));
const SIZE = { columns: 110, rows: 26 };
const LIMIT = { timeout: patiently(300_000) };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-pictures-test-'));
});

afterEach(async () => {
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
});

const atTerminal = (
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ProgramAtTerminal =>
  new ProgramAtTerminal(
    [process.execPath, PODLOOP_MAIN, ...words].join(' '),
    { TERM: 'xterm', ...env },
    SIZE,
  );

it('the demo', LIMIT, async () => {
  await using terminal = atTerminal(['demo', EXAMPLES]);
  await terminal.showsOnScreen(/crash-demo +0\/1 +CrashLoopBackOff +[2-9]/);
  await terminal.showsOnScreen(/job-demo +0\/1 +Completed/);
  await expectPicture({
    ...{ name: 'demo', command: 'npm start', lines: terminal.picture },
    rows: [/^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE/m, /^default +web-demo/m, /crash-demo.*CrashLoop/],
  });
  terminal.press('q');
  await terminal.ended;
});

const container = (script: string, more: object = {}) => ({
  ...{ name: 'main', image: 'podloop.local/host', command: ['sh', '-c', script], ...more },
});
const STAY = 'trap "exit 0" TERM; while :; do sleep 1; done';
const podSpec = (script: string, more: object = {}) => ({
  ...{ terminationGracePeriodSeconds: 1, containers: [container(script, more)] },
});
const OBJECTS = [
  {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shop' } },
    spec: {
      ...{ replicas: 3, selector: { matchLabels: { app: 'shop' } } },
      template: { metadata: { labels: { app: 'shop' } }, spec: podSpec(STAY) },
    },
  },
  {
    ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'store' } },
    spec: {
      ...{ replicas: 1, serviceName: 'store', selector: { matchLabels: { app: 'store' } } },
      template: { metadata: { labels: { app: 'store' } }, spec: podSpec('while :; do :; done') },
    },
  },
  {
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'report' } },
    spec: { template: { spec: { ...podSpec('echo done'), restartPolicy: 'Never' } } },
  },
  {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'mailer' } },
    spec: podSpec('echo "no configuration" >&2; exit 3'),
  },
  {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'typo' } },
    spec: podSpec(STAY, { image: 'shop/typo:1', imagePullPolicy: 'Never' }),
  },
];

it('run --summary and stats', LIMIT, async () => {
  await mkdir(join(folder, 'pods'));
  for (const [at, object] of OBJECTS.entries())
    await writeFile(join(folder, `pods/${at}.json`), JSON.stringify(object));
  const root = join(folder, 'node');
  const place = ['--root-dir', root, '--pod-logs-dir', join(folder, 'logs'), '--node-name', 'laptop'];
  const runtime = ['--runtime-endpoint', 'embedded', '--network', 'host', '--stop-pods'];
  await using terminal = atTerminal(['run', join(folder, 'pods'), '--summary', ...place, ...runtime]);
  await terminal.showsOnScreen(/mailer-laptop +0\/1 +CrashLoopBackOff +[2-9]/);
  await terminal.showsOnScreen(/report-\w+ +0\/1 +Completed/);
  await terminal.showsOnScreen(/store-0 +1\/1 +Running/);
  await expectPicture({
    ...{ name: 'run-summary', command: 'sudo podloop run ./pods --summary', lines: terminal.picture },
    rows: [/^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE/m, /typo-laptop.*ErrImageNeverPull/, /store-0/],
  });
  await using stats = atTerminal(['stats'], { PODLOOP_SOCKET: join(root, 'podloop.sock') });
  await stats.showsOnScreen(/store-0 +[1-9]\d*\.\d\d%/);
  await expectPicture({
    ...{ name: 'stats', command: 'podloop stats', lines: stats.picture },
    rows: [/^POD +CPU % +MEM USAGE \/ LIMIT/m, /^store-0/m],
  });
  stats.press('\x03');
  await stats.ended;
  terminal.press('q');
  await terminal.ended;
});

it('top pleg', LIMIT, async () => {
  await using runtime = await spawnSyntheticRuntime({ pods: 60, containersPerPod: 2 });
  await using terminal = atTerminal(['top', 'pleg', '--runtime-endpoint', runtime.endpoint]);
  await terminal.showsOnScreen(/Health {4}ok, last relist/);
  const pods = await runtime.control.pods();
  const sick = pods[7]!;
  await runtime.control.setFaults({ hungPods: [sick.uid] });
  for (const each of pods.slice(5, 9)) await runtime.control.kill({ containerIds: [each.containers[0]!.id] });
  await terminal.showsOnScreen(/Health {4}stuck: \S+ for [\d.]+ ?s/);
  await expectPicture({
    ...{ name: 'top-pleg', command: 'podloop top pleg', lines: terminal.picture },
    rows: [/^Health +stuck: team-\S+ for/m, /^POD +NOW +LAST +LONGEST/m, /container_status/],
  });
  terminal.press('q');
  await terminal.ended;
});
