import { describe, expect, it } from 'vitest';
import { aNode, type NodeFactsChanges } from '#support/builders/node-facts-builder.js';
import { diagnose } from '../diagnose.js';
import { type KubeletMetrics } from '../facts/kubelet-facts.js';
import { type OciCall } from '../host/host-facts.js';
import { known, notKnown } from '../looked.js';
import { type ListedSandbox } from '../runtime-port.js';
import { explainPod } from './explain-pod.js';
import { type PodCase, type PodDiagnosis, type RuntimeContainer } from './pod-case.js';
import { type EventObject, type PodObject, type StateObject } from './pod-object.js';

const NOW = aNode().atMs;
const WEB = { uid: 'uid-web', namespace: 'default', name: 'web' };
const ago = (ms: number): string => new Date(NOW - ms).toISOString();
const SANDBOX: ListedSandbox = { id: 's1', pod: WEB, attempt: 0, ready: true, createdAtMs: NOW - 50_000 };

interface Changes {
  readonly status?: object;
  readonly spec?: object;
  readonly metadata?: object;
  readonly sandboxes?: readonly ListedSandbox[];
  readonly containers?: readonly RuntimeContainer[];
  readonly events?: readonly EventObject[];
  readonly node?: NodeFactsChanges;
  readonly source?: PodCase['source'];
}

function explain(changes: Changes): PodDiagnosis {
  const { status = {}, spec = {}, metadata = {}, node, source = 'the kubelet', ...rest } = changes;
  const facts = aNode(node);
  const object: PodObject = {
    metadata: { ...WEB, creationTimestamp: ago(60_000), ...metadata },
    spec: { containers: [{ name: 'app', image: 'example.com/app:1' }], ...spec },
    status: { phase: 'Pending', startTime: ago(60_000), ...status },
  };
  return explainPod({
    ...{ pod: WEB, source, events: [], sandboxes: [SANDBOX], containers: [], facts },
    ...{ findings: diagnose(facts), ...(source === 'the runtime' ? {} : { object }), ...rest },
  });
}

const statusOf = (state: StateObject, more: object = {}, name = 'app') => ({
  containerStatuses: [{ name, state, ready: false, ...more }],
});
const waits = (reason: string, message = '') => statusOf({ waiting: { reason, message } });
const aCall = (operation: string): OciCall => ({
  ...{ pid: 30, command: 'runc', state: 'S', waitsIn: 'do_wait', operation, containerId: 'c'.repeat(64) },
  ...{ forMs: 25_000, pod: WEB },
});
const working = (call: OciCall): NodeFactsChanges => ({
  machine: {
    runtimeWork: known({
      ...{ calls: [call], callCount: 1, endedCalls: [], endedCallCount: 0 },
      ...{ illShims: [], illShimCount: 0, asked: 9 },
    }),
  },
});
const METRICS: KubeletMetrics = {
  ...{ url: '/metrics', isEvented: false, relists: 9, isRecent: true, eventsDiscarded: 0 },
  ...{ eventsDiscardedLately: 0, sandboxErrors: 0, sandboxErrorsLately: 0, operations: [] },
};
const beside = (metrics: Partial<KubeletMetrics> = {}): NodeFactsChanges => ({
  rest: {
    kubelet: {
      health: notKnown('no'),
      metrics: known({ ...METRICS, ...metrics }),
      waiting: known([
        { pod: WEB, reason: 'ContainerCreating', message: '', forMs: 60_000, hasSandbox: false },
      ]),
    },
  },
});

describe('a pod that does not run stands at', () => {
  it.each<[PodDiagnosis['step'], string]>([
    ['pull', 'ErrImagePull'],
    ['pull', 'ImagePullBackOff'],
    ['pull', 'InvalidImageName'],
    ['pull', 'ErrImageNeverPull'],
    ['create', 'CreateContainerConfigError'],
    ['create', 'CreateContainerError'],
    ['start', 'RunContainerError'],
    ['start', 'PostStartHookError'],
    ['start', 'AWordOfTheFuture'],
  ])('%s where its kubelet says %s', (step, reason) => {
    const found = explain({ status: waits(reason, 'because of x') });
    expect(found).toMatchObject({ step, reason, container: 'app', isWell: false, sinceMs: NOW - 60_000 });
    expect(found.message).toContain('because of x');
    expect(found.remedy).not.toBe('');
  });

  it.each<[PodCase['source'], RegExp]>([
    ['podloop’s agent', /podloop logs --previous -c app web -n default/],
    ['the kubelet', /kubectl logs --previous -c app web -n default/],
  ])('in the words of %s', (source, words) => {
    const lastState = { terminated: { exitCode: 1, reason: 'Error', finishedAt: ago(20_000) } };
    const waiting = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } };
    expect(explain({ source, status: statusOf(waiting, { lastState, restartCount: 3 }) }).remedy).toMatch(
      words,
    );
  });

  it.each<[string, object, RegExp]>([
    ['failed', { exitCode: 1, reason: 'Error' }, /kubectl logs --previous -c app/],
    ['used too much memory', { exitCode: 137, reason: 'OOMKilled' }, /resources\.limits\.memory/],
    ['was killed', { exitCode: 137, reason: 'Error' }, /liveness probe/],
    ['is not in the image', { exitCode: 127, reason: 'Error' }, /command cannot be run/],
    ['ended with success', { exitCode: 0, reason: 'Completed' }, /needs one that stays/],
  ])('back-off, with its last end: it %s', (_, end, remedy) => {
    const lastState = { terminated: { ...end, finishedAt: ago(20_000) } };
    const found = explain({
      status: statusOf(
        { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
        { lastState, restartCount: 3 },
      ),
    });
    expect(found).toMatchObject({ step: 'back-off', container: 'app', sinceMs: NOW - 20_000 });
    expect(found.evidence.join('\n')).toMatch(
      /back-off 40s\n3 restarts; the last run ended with exit code .* 20s ago/,
    );
    expect(found.remedy).toMatch(remedy);
  });

  it('admission when it was refused', () => {
    const found = explain({
      status: { phase: 'Failed', reason: 'OutOfcpu', message: 'Node has not enough cpu' },
      sandboxes: [],
    });
    expect(found).toMatchObject({ step: 'admission', reason: 'OutOfcpu', isWell: false });
    expect(found.message).toBe('pod default/web was refused: Node has not enough cpu');
  });

  it('its volumes while no sandbox has been tried', () => {
    const spec = {
      volumes: [
        { name: 'keys', secret: { secretName: 'keys' } },
        { name: 'tmp', emptyDir: {} },
      ],
    };
    const found = explain({ status: waits('ContainerCreating'), spec, sandboxes: [], node: beside() });
    expect(found).toMatchObject({ step: 'volume', sinceMs: NOW - 60_000 });
    expect(found.evidence[0]).toBe('volumes: keys (secret), tmp (emptyDir)');
  });

  it('its sandbox when calls of RunPodSandbox fail', () => {
    const found = explain({
      status: waits('ContainerCreating'),
      sandboxes: [],
      node: beside({ sandboxErrors: 4 }),
    });
    expect(found).toMatchObject({ step: 'sandbox', reason: 'SandboxesFail' });
    expect(found.findings.map(({ code }) => code)).toEqual(['SandboxesFail']);
  });

  it('its network while a plugin is at work, with its pid', () => {
    const plugin = (forMs: number): NodeFactsChanges => ({
      machine: {
        plugins: known({
          running: [{ pid: 7, command: 'bridge', operation: 'ADD', sandboxId: 's', pod: WEB, forMs }],
          count: 1,
        }),
      },
    });
    for (const forMs of [2_000, 40_000, 200_000]) {
      const found = explain({ status: waits('ContainerCreating'), sandboxes: [], node: plugin(forMs) });
      expect(found.step).toBe('network');
      expect(`${found.message} ${found.evidence.join(' ')}`).toContain('pid 7');
    }
  });

  it.each<[PodDiagnosis['step'], string, string]>([
    ['volume', 'FailedMount', 'secret "keys" not found'],
    ['volume', 'FailedToMakePodDataDirectories', 'no space left on device'],
    [
      'network',
      'FailedCreatePodSandBox',
      'plugin type="bridge" failed: no IP addresses available in range set',
    ],
    ['network', 'NetworkNotReady', 'cni plugin not initialized'],
    ['sandbox', 'FailedCreatePodSandBox', 'failed to pull sandbox image "registry.k8s.io/pause:3.10"'],
    ['sandbox', 'FailedCreatePodSandBox', 'no space left on device'],
  ])('%s when podloop’s agent has the event %s: %s', (step, reason, message) => {
    const events = [{ type: 'Warning', reason, message, count: 5, lastTimestamp: ago(3_000) }];
    const found = explain({
      status: waits('ContainerCreating'),
      sandboxes: [],
      events,
      source: 'podloop’s agent',
    });
    expect(found).toMatchObject({ step, reason });
    expect(found.message).toContain(message);
    expect(found.evidence).toEqual([`event ${reason} (5 times, 3s ago): ${message}`]);
  });

  it.each<[PodDiagnosis['step'], string]>([
    ['create', 'create'],
    ['start', 'start'],
  ])('%s while runc %s hangs, with the process', (step, operation) => {
    const found = explain({ status: waits('ContainerCreating'), node: working(aCall(operation)) });
    expect(found).toMatchObject({ step, reason: 'OciRuntimeHangs', sinceMs: NOW - 25_000 });
    expect(found.message).toContain('pid 30');
    expect(found.findings).toHaveLength(1);
  });

  it('pull while the container is not there and nothing else is at work', () => {
    const found = explain({ status: waits('ContainerCreating') });
    expect(found).toMatchObject({ step: 'pull', container: 'app', sinceMs: SANDBOX.createdAtMs });
    expect(found.message).toContain('most likely its image is being pulled (example.com/app:1)');
    const pulling = explain({
      status: waits('ContainerCreating'),
      events: [{ reason: 'Pulling' }, { reason: 'Scheduled' }],
    });
    expect(pulling.message).toContain(': its image is being pulled');
  });

  it('an unknown step while the runtime does not list its pods, whatever its kubelet says', () => {
    const found = explain({
      ...{ status: waits('ContainerCreating'), sandboxes: [] },
      node: { runtime: { population: notKnown('the pods could not be listed') } },
    });
    expect(found).toMatchObject({ step: 'unknown', reason: 'NotSeen', container: 'app', isWell: false });
    expect(found.message).toContain('is not known: the pods could not be listed');
  });

  it('start while an init container runs, named before the containers that wait for it', () => {
    const init = {
      name: 'setup',
      ready: false,
      started: true,
      state: { running: { startedAt: ago(30_000) } },
    };
    const found = explain({ status: { initContainerStatuses: [init], ...waits('PodInitializing') } });
    expect(found).toMatchObject({ step: 'start', container: 'setup', sinceMs: NOW - 30_000 });
    const done = { ...init, state: { terminated: { exitCode: 0 } } };
    expect(explain({ status: { initContainerStatuses: [done], ...waits('PodInitializing') } })).toMatchObject(
      {
        ...{ step: 'pull', container: 'app' },
      },
    );
    const sidecar = {
      spec: { initContainers: [{ name: 'setup', restartPolicy: 'Always' }], containers: [{ name: 'app' }] },
    };
    expect(
      explain({ status: { initContainerStatuses: [init], ...waits('PodInitializing') }, ...sidecar }),
    ).toMatchObject({
      ...{ step: 'pull', container: 'app' },
    });
  });

  it.each([
    ['readiness', true],
    ['startup', false],
  ])('probe when its %s probe does not succeed', (probe, started) => {
    const status = statusOf({ running: { startedAt: ago(40_000) } }, { started });
    const found = explain({ status: { phase: 'Running', ...status } });
    expect(found).toMatchObject({ step: 'probe', container: 'app', sinceMs: NOW - 40_000 });
    expect(found.message).toContain(`its ${probe} probe has not succeeded`);
    const hung = explain({ status: { phase: 'Running', ...status }, node: working(aCall('exec')) });
    expect(hung).toMatchObject({ step: 'probe', reason: 'OciRuntimeHangs' });
    expect(hung.remedy).toContain('kill -9 30');
  });

  it('probe when the liveness probe of a ready container fails, until it was restarted', () => {
    const status = (startedMs: number) => ({
      phase: 'Running',
      ...statusOf({ running: { startedAt: ago(startedMs) } }, { ready: true, restartCount: 2 }),
    });
    const events = (failedMs: number): EventObject[] => [
      {
        ...{ type: 'Warning', reason: 'Unhealthy', message: 'Liveness probe failed: 404', count: 3 },
        ...{ lastTimestamp: ago(failedMs), involvedObject: { fieldPath: 'spec.containers{app}' } },
      },
    ];
    const found = explain({
      ...{ status: status(40_000), events: events(4_000), source: 'podloop’s agent' },
    });
    expect(found).toMatchObject({ step: 'probe', reason: 'LivenessFails', container: 'app', isWell: false });
    expect(found.message).toMatch(/its liveness probe failed 4s ago; .*: Liveness probe failed: 404$/);
    expect(found.evidence[0]).toBe('2 restarts');
    expect(found.remedy).toContain('podloop logs -c app web -n default');
    expect(explain({ status: status(2_000), events: events(4_000) })).toMatchObject({ isWell: true });
    expect(explain({ status: status(200_000), events: events(50_000) })).toMatchObject({ isWell: false });
    expect(explain({ status: status(200_000), events: events(70_000) })).toMatchObject({ isWell: true });
    const once = events(25_000).map((event) => ({ ...event, count: 1 }));
    expect(explain({ status: status(200_000), events: once })).toMatchObject({ isWell: true });
  });

  it('probe of the container that fails, though another one failed later and was restarted since', () => {
    const containerStatuses = ['app', 'proxy'].map((name, at) => ({
      ...{ name, ready: true, started: true, restartCount: 1 },
      state: { running: { startedAt: ago(at === 0 ? 2_000 : 200_000) } },
    }));
    const events = ['app', 'proxy'].map((name, at): EventObject => ({
      ...{ type: 'Warning', reason: 'Unhealthy', message: `Liveness probe failed: ${name}` },
      ...{
        lastTimestamp: ago(4_000 + at * 1_000),
        involvedObject: { fieldPath: `spec.containers{${name}}` },
      },
    }));
    const found = explain({ status: { phase: 'Running', containerStatuses }, events });
    expect(found).toMatchObject({ reason: 'LivenessFails', container: 'proxy' });
  });

  it('back-off of a container that has never started, which has no log to be read', () => {
    const terminated = { exitCode: 128, reason: 'StartError', message: 'exec: "/x": no such file' };
    const status = statusOf({ waiting: { reason: 'CrashLoopBackOff' } }, { lastState: { terminated } });
    const { remedy } = explain({ status, source: 'podloop’s agent' });
    expect(remedy).toMatch(/^It has not started, so it has no log/);
  });

  it('pull, in the words of whoever runs the pod', () => {
    const { remedy } = explain({ status: waits('ErrImagePull'), source: 'podloop’s agent' });
    expect(remedy).toContain('(podloop pull IMAGE)');
    expect(explain({ status: waits('ErrImagePull') }).remedy).toContain('(crictl pull IMAGE)');
  });

  it('deletion, with what holds it up', () => {
    const metadata = { deletionTimestamp: ago(40_000), deletionGracePeriodSeconds: 30 };
    const running = { phase: 'Running', ...statusOf({ running: {} }, { ready: true }) };
    expect(explain({ status: running, metadata })).toMatchObject({
      ...{ step: 'deletion', reason: 'Terminating', sinceMs: NOW - 70_000, isWell: false },
      message: 'pod default/web should have ended 40s ago, and is still there',
    });
    const hung = explain({ status: running, metadata, node: working(aCall('kill')) });
    expect(hung).toMatchObject({ step: 'deletion', reason: 'OciRuntimeHangs' });
    const young = explain({ status: running, metadata: { ...metadata, deletionTimestamp: ago(-10_000) } });
    expect(young.message).toContain('has 10s left to end by itself');
  });
});

describe('a pod whose container ends again and again beside a kubelet without a control plane', () => {
  it('waits to be started once more, though its state is the end itself', () => {
    const crashed = statusOf(
      { terminated: { exitCode: 3, reason: 'Error', finishedAt: ago(9_000) } },
      { restartCount: 4 },
    );
    const standing = explain({ status: { phase: 'Running', ...crashed } });
    expect(standing).toMatchObject({ step: 'back-off', reason: 'CrashLoopBackOff', sinceMs: NOW - 9_000 });
    expect(standing.message).toMatch(/ends again and again.*exit code 3/);
  });
});

describe('a pod that is well', () => {
  it('runs, or has ended as it should', () => {
    const running = statusOf({ running: { startedAt: ago(5_000) } }, { ready: true, started: true });
    expect(explain({ status: { phase: 'Running', ...running } })).toMatchObject({
      step: 'running',
      isWell: true,
      findings: [],
    });
    const ended = statusOf({ terminated: { exitCode: 0, finishedAt: ago(9_000) } });
    expect(explain({ status: { phase: 'Succeeded', ...ended }, sandboxes: [] })).toMatchObject({
      ...{ step: 'ended', isWell: true, sinceMs: NOW - 9_000 },
    });
  });

  it('was ended with its node, which its program did not do', () => {
    const message = 'Pod was terminated in response to imminent node shutdown.';
    const end = { terminated: { exitCode: 143, reason: 'Error', finishedAt: ago(20_000) } };
    const found = explain({ status: { phase: 'Failed', reason: 'Terminated', message, ...statusOf(end) } });
    expect(found).toMatchObject({ step: 'ended', reason: 'Terminated', sinceMs: NOW - 20_000 });
    expect(found.message).toContain(message);
    expect(found.remedy).toMatch(/^It does not come back by itself/);
  });

  it('has not ended well when a container failed, or when it was evicted', () => {
    const failed = statusOf({ terminated: { exitCode: 3, reason: 'Error', finishedAt: ago(9_000) } });
    expect(explain({ status: { phase: 'Failed', ...failed } })).toMatchObject({
      step: 'ended',
      container: 'app',
      isWell: false,
    });
    const evicted = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory' };
    expect(explain({ status: evicted })).toMatchObject({ step: 'ended', reason: 'Evicted', isWell: false });
  });
});

describe('a pod that the runtime alone knows', () => {
  const container = (changes: Partial<RuntimeContainer> = {}): RuntimeContainer => ({
    ...{ id: 'c1', name: 'app', sandboxId: 's1', attempt: 0, state: 'running', createdAtMs: NOW - 40_000 },
    ...changes,
  });
  const see = (containers: readonly RuntimeContainer[], rest: Changes = {}) =>
    explain({ source: 'the runtime', containers, ...rest });

  it.each<[PodDiagnosis['step'], boolean, Partial<RuntimeContainer>]>([
    ['running', true, {}],
    ['start', false, { state: 'created' }],
    ['back-off', false, { state: 'exited', exitCode: 1, reason: 'Error', finishedAtMs: NOW - 8_000 }],
    ['ended', true, { state: 'exited', exitCode: 0, finishedAtMs: NOW - 8_000 }],
  ])('stands at %s (well: %s) as its container does', (step, isWell, changes) => {
    expect(see([container(changes)])).toMatchObject({ step, isWell });
  });

  it('is judged by the newest container of each name', () => {
    const dead = container({ id: 'c0', state: 'exited', exitCode: 1, createdAtMs: NOW - 90_000 });
    expect(see([container({ attempt: 1 }), dead])).toMatchObject({ step: 'running' });
    const again = container({
      id: 'c2',
      attempt: 4,
      state: 'exited',
      exitCode: 2,
      finishedAtMs: NOW - 3_000,
    });
    expect(see([dead, again])).toMatchObject({
      step: 'back-off',
      sinceMs: NOW - 3_000,
      evidence: ['it was started 5 times'],
    });
  });

  it('stands at pull without a container, and at its sandbox without that', () => {
    expect(see([])).toMatchObject({ step: 'pull', sinceMs: SANDBOX.createdAtMs });
    expect(see([], { sandboxes: [{ ...SANDBOX, ready: false }] })).toMatchObject({
      step: 'sandbox',
      isWell: false,
    });
  });

  it('is not known where the runtime is not reached, and its node is to blame', () => {
    const nothing = notKnown('the runtime was not reached');
    const connection = {
      connected: false,
      attempts: 9,
      failures: 9,
      watchedMs: 3_000,
      lastError: 'x',
      lastCode: 'ENDPOINT_NOT_FOUND',
    };
    const node = { runtime: { population: nothing, connection } } as NodeFactsChanges;
    expect(see([], { node, sandboxes: [] })).toMatchObject({ step: 'unknown', isWell: false });
  });
});

it('names the gates for which a pod waits', () => {
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }];
  const spec = { schedulingGates: [{ name: 'example.org/data' }, { name: 'example.org/quota' }] };
  const found = explain({ status: { conditions }, spec, sandboxes: [] });
  expect(found).toMatchObject({ step: 'admission', reason: 'SchedulingGated', isWell: false });
  expect(found.message).toBe(
    'pod default/web waits for its scheduling gates to be taken off: example.org/data, example.org/quota',
  );
});
