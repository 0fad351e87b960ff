import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Channels } from '#base/channels/publishing-channel.js';
import { ClusterEvents, ProblemCondition } from '#cluster';
import { type Finding } from '#doctor';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { InMemoryApi } from '#testing/in-memory-api/in-memory-api.js';
import { ApiError } from '../../cluster/client/kube-client.js';
import { FindingTracker } from '../findings/finding-tracker.js';
import { NodeReporter } from './node-reporter.js';

const NODE = '/api/v1/nodes/here';
const EVENTS = '/api/v1/namespaces/default/events';
const MINUTE_MS = 60_000;
const web = { uid: 'u', namespace: 'default', name: 'web' };

const aFinding = (code: Finding['code'], more: Partial<Finding> = {}): Finding => ({
  ...{ code, severity: 'critical', message: `${code} is wrong`, evidence: ['a secret'], remedy: 'mend it' },
  ...more,
});

/** A reporter at an API server in memory. */
function setUp({ hasCondition = true } = {}) {
  const clock = new FakeClock();
  const api = new InMemoryApi({ clock });
  api.put(NODE, { metadata: { name: 'here' }, status: { conditions: [] } });
  const logger = new LogRecorder();
  const common = { client: api, nodeName: 'here', clock, logger };
  const events = new ClusterEvents({
    ...{ ...common, component: 'podloop-observe', keepsTrying: true, random: () => 0.5 },
    ...{ nodeUid: () => undefined, findPod: () => undefined, hide: (message) => message },
  });
  const condition = hasCondition ? new ProblemCondition({ ...common, type: 'PodloopProblem' }) : undefined;
  const reporter = new NodeReporter({ events, condition, clock, logger });
  const stop = new AbortController();
  const running = reporter.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  const tracker = new FindingTracker();
  const examine = async (...findings: readonly Finding[]): Promise<void> => {
    reporter.examined(tracker.update(findings, clock.now()), tracker.active);
    await clock.advance(MINUTE_MS);
  };
  const told = async () =>
    (
      await api.request<{ items: { type: string; reason: string; message: string }[] }>({
        method: 'GET',
        path: EVENTS,
      })
    ).items;
  const conditions = () => (api.find(NODE)?.status as { conditions: object[] }).conditions;
  return { api, clock, logger, reporter, examine, told, conditions, end };
}

describe('findings in a cluster', () => {
  it('are events of the Node, at their begin and at their end, with the pod and the container', async () => {
    const { examine, told } = setUp();
    await examine(aFinding('PodHung', { pod: web, container: 'main', message: 'a status call hangs' }));
    await examine();
    await examine();
    expect(await told()).toMatchObject([
      {
        ...{ type: 'Warning', reason: 'PodHung', source: { component: 'podloop-observe', host: 'here' } },
        message: 'a status call hangs (pod default/web, container main)',
        involvedObject: { kind: 'Node', name: 'here' },
      },
      {
        type: 'Normal',
        reason: 'PodHung',
        message: expect.stringMatching(/^Over after 1m0s: a status call hangs/) as string,
      },
    ]);
  });

  it('are in the condition while one of them is critical, the first by its name', async () => {
    const { examine, conditions, end } = setUp();
    await examine(aFinding('CrashLoops', { severity: 'warning' }));
    expect(conditions()).toMatchObject([{ status: 'False', reason: 'NoCriticalFinding' }]);
    await examine(aFinding('PodHung', { pod: web }), aFinding('ListHangs'));
    expect(conditions()).toMatchObject([
      { status: 'True', reason: 'PodHung', message: 'PodHung is wrong (pod default/web) (and 1 more)' },
    ]);
    await end();
    expect(conditions()).toEqual([]);
  });

  it('of which many come are no more events than others may have', async () => {
    const { examine, told, reporter } = setUp({ hasCondition: false });
    const many = Array.from({ length: 100 }, (_, at) =>
      aFinding('PodHung', { pod: { uid: `u${at}`, namespace: 'default', name: `web-${at}` } }),
    );
    await examine(...many);
    expect((await told()).length).toBeLessThanOrEqual(25);
    const { created, combined, filtered } = reporter.eventStats;
    expect(created + combined + filtered).toBeGreaterThanOrEqual(100);
    expect(reporter.conditionStats).toBeUndefined();
  });

  it('are written once the API server is back', async () => {
    const { api, clock, examine, told } = setUp();
    api.stop();
    await examine(aFinding('ListHangs'));
    await clock.advance(30 * MINUTE_MS);
    api.start();
    await clock.advance(3 * MINUTE_MS);
    expect(await told()).toMatchObject([{ reason: 'ListHangs' }]);
  });

  it('cannot break a line, command a terminal or turn text round', async () => {
    const { examine, told } = setUp();
    await examine(aFinding('CallFails', { message: `a\nb\u001B[2J\u202Ec${'x'.repeat(2_000)}` }));
    const [event] = await told();
    expect(event!.message).not.toMatch(/[\p{C}\p{Zl}]/u);
    expect(event!.message).toHaveLength(1_000);
  });

  it('that the API server refuses are said to be refused, once, with the right that is missing', async () => {
    const { api, logger, examine } = setUp({ hasCondition: false });
    api.intercept = () => {
      throw new ApiError(403, 'Forbidden', 'events is forbidden');
    };
    for (const code of ['ListHangs', 'DiskFull', 'PodHung'] as const) await examine(aFinding(code));
    expect(logger.complaints.map(({ message }) => message)).toEqual([
      expect.stringContaining('to create and to patch events in the namespace default'),
    ]);
  });
});

describe('a reporter', () => {
  const open = async (report: { kubeconfig: string; condition?: string }) =>
    NodeReporter.open({
      report: { environment: {}, condition: undefined, ...report },
      ...{ nodeName: 'here', version: '0.1.0', channels: new Channels() },
      ...{ clock: new FakeClock(), logger: new LogRecorder() },
    });

  it('is refused with a condition of the kubelet, a missing file, and outside of a pod', async () => {
    await expect(open({ kubeconfig: '/none', condition: 'Ready' })).rejects.toThrow(
      /--node-condition: Ready is/,
    );
    await expect(open({ kubeconfig: '/none' })).rejects.toMatchObject({ code: 'KUBECONFIG_INVALID' });
    await expect(open({ kubeconfig: 'in-cluster' })).rejects.toThrow('can only be used in a pod');
  });

  it('takes a kubeconfig', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-reporter-'));
    onTestFinished(async () => rm(folder, { recursive: true }));
    const file = join(folder, 'kubeconfig');
    const text = {
      ...{ 'current-context': 'c', contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }] },
      clusters: [{ name: 'k', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'u', user: { token: 't' } }],
    };
    await writeFile(file, JSON.stringify(text));
    const { close } = await open({ kubeconfig: file, condition: 'PodloopProblem' });
    close();
  });
});
