/**
 * No value of a Secret gets out by way of somebody who quotes it: a runtime that cannot start a command, a probe that
 * prints it; not in the log, not in events, statuses, the history or the pages.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LocalApiClient } from './local-api-client.js';
import { PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

let folder: string;
let manifests: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-quoted-test-'));
  manifests = join(folder, 'manifests');
  await mkdir(manifests);
});

afterEach(async () => {
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
});

/** One that nobody can write down without escapes, and one that is shorter than what is looked for everywhere. */
const TOKEN = 'k7"Qx\\w\tvé9Z';
const PIN = 'q7Z';
/** What the Secret holds before it is edited. */
const FORMER = 'fo7"rm\\er9Z';
/** The middle of each, as it reads in any notation. */
const TRACES = [/k7[^ ]{0,8}Qx/, /v(?:é|\\u00e9|\\xc3\\xa9)9Z/, /\bq7Z\b/, /fo7[^ ]{0,8}rm/, /er9Z/];

const variable = (name: string) => ({ name, valueFrom: { secretKeyRef: { name: 'keys', key: name } } });
const ENV = ['TOKEN', 'PIN', 'FORMER'].map(variable);
const STAY = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const TELLS = {
  exec: { command: ['sh', '-c', 'printf "%s, %s" "it is $TOKEN" "was $FORMER"; exit 1'] },
  periodSeconds: 1,
};
const container = (name: string, command: readonly string[], more: object = {}) => ({
  ...{ name, image: 'podloop.local/host', command, env: ENV, ...more },
});
const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'shop' } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      container('told', ['sh', '-c', STAY], { readinessProbe: TELLS }),
      container('long', ['/nowhere/$(TOKEN)', '$(FORMER)']),
      container('short', ['$(PIN)']),
    ],
  },
};
const secret = (former: string) => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys' } },
  stringData: { TOKEN, PIN, FORMER: former },
});

/** Where it stands, with what is round it. */
function within(text: string, trace: RegExp): string[] {
  const at = text.search(trace);
  return at < 0 ? [] : [text.slice(Math.max(0, at - 100), at + 100)];
}

it('values that runtime and probes quote are nowhere to be read', async () => {
  const socket = join(folder, 'node/podloop.sock');
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs'), '--stop-pods'];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  await writeFile(join(manifests, 'keys.json'), JSON.stringify(secret(FORMER)));
  await writeFile(join(manifests, 'shop.json'), JSON.stringify(POD));
  await using agent = new PodloopProcess([
    'run',
    manifests,
    ...place,
    ...runtime,
    '--node-name',
    'test',
    '-v',
    '4',
  ]);
  await agent.line('stderr', /"Event occurred".*reason="Unhealthy".*it is \*\*\*, was \*\*\*/);
  // What a container was started with stays known when the Secret says something else.
  await writeFile(join(manifests, 'keys.json'), JSON.stringify(secret('another-one')));
  for (const name of ['long', 'short'])
    await agent.line('stderr', new RegExp(`"Event occurred".*\\{${name}\\}.*reason="Failed"`));
  await agent.line('stderr', /"StartContainer from runtime service failed".*may quote a Secret/);
  const shown = await Promise.all(
    [
      ['get', 'pods', '-o', 'json'],
      ['describe', 'pod', 'shop-test'],
      ['events', '-o', 'json'],
    ].map((command) => runPodloop([...command, '--socket', socket])),
  );
  expect(shown.map(({ stderr }) => stderr)).toEqual(['', '', '']);
  const api = new LocalApiClient(socket);
  const pages = await Promise.all(['/pods', '/debug/pleg'].map((page) => api.json(page)));
  await agent.end('SIGTERM');
  const texts = [
    ...agent.stderr,
    ...agent.stdout,
    ...shown.map(({ stdout }) => stdout),
    JSON.stringify(pages),
  ];
  const found = texts.flatMap((text) => TRACES.flatMap((trace) => within(text, trace)));
  expect(found).toEqual([]);
});
