import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentCommandHarness, PODS_PATH, type Ran } from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer, sendStatus } from '#support/fakes/fake-agent-server.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
  agent.on(`PUT ${PODS_PATH}/web`, () => shown('a:1'));
});
afterEach(() => lab[Symbol.asyncDispose]());

const aPod = (image: string) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
  spec: { containers: [{ name: 'main', image }] },
});
/** As an agent shows the pod of that manifest. */
const shown = (image: string) => ({
  ...aPod(image),
  metadata: {
    ...{ name: 'web-n1', namespace: 'default', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
    annotations: { 'kubernetes.io/config.source': 'file', 'podloop.dev/manifest-hash': 'h' },
  },
  spec: {
    containers: [
      {
        ...{ name: 'main', image, imagePullPolicy: 'IfNotPresent' },
        ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
      },
    ],
    ...{ dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', terminationGracePeriodSeconds: 30 },
    ...{ nodeName: 'n1', enableServiceLinks: true, securityContext: {} },
  },
  status: { phase: 'Running' },
});

const diff = (object: object, env: Record<string, string> = {}): Promise<Ran> =>
  lab.start(['diff', '-f', '-'], {
    stdin: JSON.stringify(object),
    env: { PODLOOP_SOCKET: agent.socketPath, PATH: process.env['PATH'] ?? '', ...env },
  }).ended;

describe('podloop diff', () => {
  it('finds nothing in what only the agent has added', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => shown('a:1'));
    expect(await diff(aPod('a:1'))).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(agent.requests.map(({ query }) => query)).toEqual([{ dryRun: 'All' }, {}]);
  });

  it('leaves out a container that somebody has added for debugging', async () => {
    const { spec, ...pod } = shown('a:1');
    const ephemeralContainers = [{ name: 'debugger-x2x4f', image: 'tools:1' }];
    agent.on(`GET ${PODS_PATH}/web`, () => ({ ...pod, spec: { ...spec, ephemeralContainers } }));
    expect(await diff(aPod('a:1'))).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('shows what would change, and ends with 1', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => shown('a:1'));
    const { code, stdout } = await diff(aPod('a:2'));
    const changed = stdout.split('\n').filter((line) => /^[-+] /.test(line));
    expect([code, changed]).toEqual([1, ['-  - image: a:1', '+  - image: a:2']]);
  });

  it('shows an object that is not there as a whole', async () => {
    const { code, stdout } = await diff(aPod('a:2'));
    expect([code, stdout.includes('+  - image: a:2')]).toEqual([1, true]);
  });

  it('runs the program of KUBECTL_EXTERNAL_DIFF, and ends as that does', async () => {
    expect((await diff(aPod('a:1'), { KUBECTL_EXTERNAL_DIFF: 'ls -d' })).code).toBe(0);
    expect((await diff(aPod('a:1'), { KUBECTL_EXTERNAL_DIFF: 'false' })).code).toBe(1);
    const { code, stderr } = await diff(aPod('a:1'), { KUBECTL_EXTERNAL_DIFF: 'no-such-program' });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: no-such-program cannot be run/)]);
  });

  it('says only of a Secret that it would change', async () => {
    agent.on('PUT /api/v1/namespaces/default/secrets/key', (_, answer) => {
      answer.setHeader('podloop-result', 'configured');
      return { kind: 'Secret' };
    });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' }, stringData: { a: 'hush' } };
    expect(await diff(secret)).toEqual({
      ...{ code: 1, stderr: '', stdout: 'secret/key would be configured; its values are not shown\n' },
    });
  });

  it('ends with more than 1 where the agent refuses, but not where only its file is in the way', async () => {
    agent.on(`GET ${PODS_PATH}/web`, () => shown('a:1'));
    agent.on(`PUT ${PODS_PATH}/web`, (_, answer) => sendStatus(answer, 409, 'Conflict', 'it is in a file'));
    expect((await diff(aPod('a:1'))).code).toBe(0);
    agent.on(`PUT ${PODS_PATH}/web`, (_, answer) => sendStatus(answer, 403, 'Forbidden', 'not here'));
    expect(await diff(aPod('a:1'))).toMatchObject({
      ...{ code: 2, stderr: 'Error from server (Forbidden): error when comparing "STDIN": not here\n' },
    });
  });
});
