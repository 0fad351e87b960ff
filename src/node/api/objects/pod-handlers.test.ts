import { describe, expect, it } from 'vitest';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { aServedStatus, ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { FakeClock } from '#testing/fake-clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type ApiAnswer, type ApiRequest } from '../http/api-request.js';
import { applyObject, type ObjectToApply } from './apply-object.js';
import { deletePod } from './delete-pod.js';
import { kubeletPodFinder } from '../node/find-kubelet-pod.js';
import { podFinder } from './list-pods.js';
import { listEvents } from './list-events.js';
import { readPodLog } from './pod-log.js';
import {
  execInContainer,
  attachToContainer,
  forwardPorts,
  type RuntimeStreams,
} from '../node/stream-container.js';
import { WatchPlaces } from '../http/watch-answer.js';

function ask(query: string, more: Partial<ApiRequest> & { readonly body?: unknown } = {}): ApiRequest {
  const { body, ...rest } = more;
  return {
    ...{ method: 'GET', path: '/', headers: {}, signal: new AbortController().signal },
    params: { namespace: 'default', name: 'web' },
    query: new URLSearchParams(query),
    readBody: async () => body,
    ...rest,
  };
}

function bodyOf(answer: ApiAnswer): unknown {
  if (answer.kind !== 'json') throw new Error(`it is ${answer.kind}`);
  return answer.body;
}

const TWO = {
  containers: [
    { name: 'a', image: 'a' },
    { name: 'b', image: 'b' },
  ],
};

describe('exec, attach and port-forward', () => {
  function setUp(status: V1PodStatus = aServedStatus(), failure?: Error) {
    const scene = new ServedPodsHarness();
    scene.set({ name: 'web' }, { status });
    scene.set({ name: 'two', spec: TWO });
    const asked: unknown[] = [];
    const record = async (...args: unknown[]): Promise<string> => {
      asked.push(args.slice(0, -1));
      if (failure !== undefined) throw failure;
      return 'http://127.0.0.1:1/token';
    };
    const streams: RuntimeStreams = { exec: record, attach: record, portForward: record };
    return { asked, options: { streams, findPod: podFinder(scene.table) } };
  }
  const pod = { uid: 'uid-web', namespace: 'default', name: 'web' };

  it('ask the runtime for the streams that are wanted', async () => {
    const { asked, options } = setUp();
    await execInContainer(options)(
      ask('command=sh&command=-c&command=a%20b&stdin=true&stdout=1&tty=true&stderr=true'),
    );
    await attachToContainer(options)(ask('container=main'));
    await forwardPorts(options)(ask('ports=80,443&ports=8080'));
    const stream = { pod, containerId: 'c0ffee' };
    expect(asked).toEqual([
      [{ ...stream, command: ['sh', '-c', 'a b'], stdin: true, stdout: true, stderr: false, tty: true }],
      [{ ...stream, stdin: false, stdout: true, stderr: true, tty: false }],
      [expect.objectContaining(pod), [80, 443, 8080]],
    ]);
  });

  it('refuse what cannot be, in the words of an API server and a kubelet', async () => {
    const exec = execInContainer(setUp().options);
    const cases: [string, ApiRequest][] = [
      ['pods "nope" not found', ask('command=a', { params: { namespace: 'default', name: 'nope' } })],
      ['pods "web" not found', ask('command=a', { params: { namespace: 'other', name: 'web' } })],
      ['container x is not valid for pod web', ask('command=a&container=x')],
      ['command: Required value', ask('')],
      ['you must specify at least 1 of stdin, stdout, stderr', ask('command=a&stdin=false')],
      [
        'a container name must be specified for pod two, choose one of: [a b]',
        ask('command=a', { params: { namespace: 'default', name: 'two' } }),
      ],
    ];
    for (const [words, request] of cases) await expect(exec(request)).rejects.toThrow(words);
    await expect(forwardPorts(setUp().options)(ask('ports=0'))).rejects.toThrow(
      'unable to parse "0" as a port',
    );
  });

  it('find a pod by the name in its manifest, too, but for one that is called so', () => {
    const scene = new ServedPodsHarness();
    const on = (name: string, nodeName: string, namespace = 'default') =>
      scene.set({ name, namespace, uid: `uid-${namespace}-${name}`, spec: { nodeName } });
    for (const name of ['web-n1', 'db', 'db-n1']) on(name, 'N1');
    on('far-n1', 'n1', 'other');
    const find = podFinder(scene.table);
    const nameOf = (name: string): string =>
      find(ask('', { params: { namespace: 'default', name } })).served.pod.metadata.name;
    expect(['web', 'web-n1', 'db', 'db-n1'].map(nameOf)).toEqual(['web-n1', 'web-n1', 'db', 'db-n1']);
    for (const name of ['far', 'we', 'web-', '']) expect(() => nameOf(name)).toThrow('not found');
  });

  it('find of pods of one name the newest of those that nobody has deleted, or the one with the uid that is asked for', () => {
    const scene = new ServedPodsHarness();
    const set = (
      uid: string,
      more: { readonly deletionTimestamp?: string } = {},
      isLeaving = false,
    ): void => {
      const deletion = { deletionTimestamp: '2026-01-02T03:04:05Z', deletionGracePeriodSeconds: 30 };
      const blueprint = { name: 'web-n1', uid, spec: { nodeName: 'N1' }, ...more };
      scene.set(blueprint, isLeaving ? { deletion } : {});
    };
    const find = podFinder(scene.table);
    const params = { namespace: 'default', name: 'web-n1' };
    const uidsOf = (...names: string[]): string[] =>
      names.map((name) => find(ask('', { params: { ...params, name } })).served.pod.metadata.uid);
    set('old');
    set('new');
    expect(uidsOf('web-n1', 'web')).toEqual(['new', 'new']);
    set('old', {}, true);
    expect(uidsOf('web-n1', 'web')).toEqual(['new', 'new']);
    set('old');
    set('new', {}, true);
    expect(uidsOf('web-n1', 'web')).toEqual(['old', 'old']);
    set('old', { deletionTimestamp: '2026-01-02T03:04:05Z' });
    expect(uidsOf('web-n1', 'web')).toEqual(['new', 'new']);
    const findByUid = kubeletPodFinder(find);
    for (const uid of ['old', 'new']) {
      expect(findByUid({ params: { ...params, uid } }).pod.metadata.uid).toBe(uid);
    }
    expect(() => findByUid({ params: { ...params, uid: 'other' } })).toThrow('pod not found');
  });

  it('find no container in one that does not run, or ended just now', async () => {
    const waiting = aServedStatus({ phase: 'Pending', containerStatuses: [] });
    const { options } = setUp(waiting);
    await expect(attachToContainer(options)(ask(''))).rejects.toThrow('container not found ("main")');
    await expect(forwardPorts(options)(ask('ports=1'))).rejects.toThrow('Current status=Pending');
    const gone = setUp(aServedStatus(), new PodloopError('CRI_NOT_FOUND', 'gone'));
    await expect(attachToContainer(gone.options)(ask(''))).rejects.toThrow('container not found ("main")');
  });
});

describe('a delete', () => {
  function setUp() {
    const scene = new ServedPodsHarness();
    const served = scene.set({ name: 'web' });
    const stops: (number | undefined)[] = [];
    const stop = async (_pod: unknown, graceSeconds: number | undefined): Promise<void> => {
      stops.push(graceSeconds);
      const deletion = {
        deletionTimestamp: '2026-01-02T03:04:05Z',
        deletionGracePeriodSeconds: graceSeconds ?? 30,
      };
      if (graceSeconds === 0) scene.pods.delete('uid-web');
      else scene.pods.set('uid-web', { ...served, deletion });
    };
    return { stops, handle: deletePod({ table: scene.table, findPod: podFinder(scene.table), stop }) };
  }

  it.each([
    ['', undefined, undefined],
    ['gracePeriodSeconds=5', { gracePeriodSeconds: 9 }, 5],
    ['', { gracePeriodSeconds: 9, propagationPolicy: 'Background' }, 9],
    ['gracePeriodSeconds=-3', undefined, 1],
    ['', { gracePeriodSeconds: -1 }, 1],
    ['gracePeriodSeconds=0', undefined, 0],
  ])('%o %o stops the pod with %o', async (query, body, expected) => {
    const { stops, handle } = setUp();
    const answer = await handle(ask(query, { body }));
    expect(stops).toEqual([expected]);
    expect(bodyOf(answer)).toMatchObject({ kind: 'Pod', metadata: { name: 'web', uid: 'uid-web' } });
    if (expected === undefined) {
      expect(bodyOf(answer)).toMatchObject({ metadata: { deletionGracePeriodSeconds: 30 } });
    }
  });

  it('stops nothing when it is only tried, or meant another pod', async () => {
    const { stops, handle } = setUp();
    await handle(ask('dryRun=All'));
    await handle(ask('', { body: { dryRun: ['All'] } }));
    await expect(handle(ask('', { body: { preconditions: { uid: 'other' } } }))).rejects.toMatchObject({
      code: 409,
    });
    await expect(handle(ask('dryRun=Some'))).rejects.toMatchObject({ code: 422 });
    await expect(handle(ask('gracePeriodSeconds=soon'))).rejects.toMatchObject({ code: 400 });
    await expect(handle(ask('', { body: [] }))).rejects.toMatchObject({ code: 400 });
    expect(stops).toEqual([]);
  });
});

describe('an object that is applied', () => {
  const POD = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: {} };
  const apply = (
    kind: 'Pod' | 'Secret' = 'Pod',
    outcome: object = { kind: 'applied', result: 'created' },
  ) => {
    const given: ObjectToApply[] = [];
    const handle = applyObject(kind, kind === 'Pod' ? 'pods' : 'secrets', async (object) => {
      given.push(object);
      return outcome as never;
    });
    return { given, handle };
  };

  it('is handed on as it came, with its namespace', async () => {
    const { given, handle } = apply();
    const answer = await handle(ask('dryRun=All', { params: { namespace: 'other' }, body: POD }));
    expect(given).toEqual([
      {
        ...{ kind: 'Pod', namespace: 'other', name: 'web', isDryRun: true, mustBeNew: true },
        value: { ...POD, metadata: { name: 'web', namespace: 'other' } },
      },
    ]);
    expect(answer).toMatchObject({ code: 201, headers: { 'podloop-result': 'created' } });
  });

  it('gets a name if it is new and leaves that to the agent', async () => {
    const { given, handle } = apply();
    const make = async (metadata: object, params: Record<string, string> = { namespace: 'default' }) =>
      handle(ask('', { params, body: { ...POD, metadata } }));
    const base = `sum-${'x'.repeat(70)}`;
    const answer = await make({ generateName: 'sum-', labels: { a: 'b' } });
    await make({ generateName: base, name: '' });
    await make({ generateName: 'sum-', name: 'own' });
    const [first, long, own] = given.map(({ name }) => name);
    expect(first).toMatch(/^sum-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect([long!.length, long!.slice(0, 58), own]).toEqual([63, base.slice(0, 58), 'own']);
    expect(given[0]!.value).toEqual({ ...POD, metadata: { name: first, labels: { a: 'b' } } });
    expect(bodyOf(answer)).toMatchObject({ metadata: { name: first } });
    await make({ generateName: 'sum-' }, { namespace: 'default', name: 'web' });
    expect(given.at(-1)!.name).toBe('web');
  });

  it('gets another name when the one that was made is taken, but not for ever', async () => {
    const names: string[] = [];
    let taken = 2;
    const handle = applyObject('Pod', 'pods', async ({ name }) => {
      names.push(name);
      return Promise.resolve(
        taken-- > 0
          ? { kind: 'refused', reason: 'AlreadyExists', message: '' }
          : { kind: 'applied', result: 'created' },
      );
    });
    const body = { ...POD, metadata: { generateName: 'sum-' } };
    const answer = await handle(ask('', { params: { namespace: 'default' }, body }));
    expect(bodyOf(answer)).toMatchObject({ metadata: { name: names[2] } });
    expect(new Set(names).size).toBe(3);
    taken = 100;
    await expect(handle(ask('', { params: { namespace: 'default' }, body }))).rejects.toMatchObject({
      code: 409,
    });
    expect(names).toHaveLength(11);
  });

  it('shows no value of a Secret', async () => {
    const secret = { ...POD, kind: 'Secret', stringData: { password: 'swordfish' } };
    const { handle } = apply('Secret', { kind: 'applied', result: 'unchanged' });
    const answer = await handle(ask('', { params: { namespace: 'default' }, body: secret }));
    expect(JSON.stringify(answer)).not.toContain('swordfish');
    expect(answer).toMatchObject({ code: 200 });
  });

  it.each([
    [undefined, 400, 'the body must be an object'],
    [{ ...POD, kind: 'Secret' }, 400, 'is not a v1 Pod'],
    [{ ...POD, metadata: { name: 'web', namespace: 'x' } }, 400, 'does not match the namespace'],
    [{ ...POD, metadata: { name: 'other' } }, 400, 'does not match the name'],
    [{ ...POD, metadata: 7 }, 400, 'metadata must be'],
  ])('%o is refused with %i', async (body, code, words) => {
    const { handle } = apply();
    const refusal = handle(ask('', { body }));
    await expect(refusal).rejects.toMatchObject({ code });
    await expect(refusal).rejects.toThrow(words);
  });

  it('is refused with everything that is wrong, or for what is in the way', async () => {
    const cause = { reason: 'FieldValueRequired', message: 'Required value', field: 'spec.containers' };
    const invalid = apply('Pod', { kind: 'invalid', causes: [cause] }).handle(ask('', { body: POD }));
    await expect(invalid).rejects.toMatchObject({ code: 422, details: { causes: [cause] } });
    const refused = { kind: 'refused', reason: 'Conflict', message: 'it stands in a.yaml' };
    const conflict = apply('Pod', refused).handle(ask('', { body: POD }));
    await expect(conflict).rejects.toThrow(
      'Operation cannot be fulfilled on pods "web": it stands in a.yaml',
    );
    const policy = { kind: 'refused', reason: 'Forbidden', message: 'spec.hostPID: Forbidden: no' };
    const forbidden = apply('Pod', policy).handle(ask('', { body: POD }));
    await expect(forbidden).rejects.toMatchObject({ code: 403 });
    await expect(forbidden).rejects.toThrow('pods "web" is forbidden: spec.hostPID: Forbidden: no');
  });
});

describe('a log that there is not', () => {
  const log = (status: V1PodStatus) => {
    const scene = new ServedPodsHarness();
    scene.set({ name: 'web' }, { status });
    const clock = new FakeClock();
    return readPodLog({
      ...{ clock, findPod: podFinder(scene.table), places: new WatchPlaces({ clock, limit: 1 }) },
      logs: {
        podLogsDir: '/logs',
        find: () => ({ logPath: '/elsewhere/0.log', isWritten: true }),
      },
    });
  };
  const waiting = (reason: string) =>
    aServedStatus({
      containerStatuses: [
        {
          ...{ name: 'main', state: { waiting: { reason } }, lastState: {}, ready: false, started: false },
          ...{ restartCount: 0, image: 'a', imageID: '' },
        },
      ],
    });

  it.each([
    [waiting('ContainerCreating'), '', 'is waiting to start: ContainerCreating'],
    [waiting('ImagePullBackOff'), '', 'is waiting to start: trying and failing to pull image'],
    [waiting('ErrImagePull'), '', "is waiting to start: image can't be pulled"],
    [aServedStatus({ containerStatuses: [] }), '', 'container "main" in pod "web" is not available'],
    [aServedStatus(), 'previous=true', 'previous terminated container "main" in pod "web" not found'],
    [aServedStatus(), 'tailLines=-1', 'tailLines: Invalid value: -1: must be greater than or equal to 0'],
    [aServedStatus(), 'tailLines=1&stream=Stderr', '`tailLines` and a specific `stream` exclude one another'],
    [aServedStatus(), 'limitBytes=0', 'limitBytes: Invalid value: 0: must be greater than 0'],
    [aServedStatus(), 'sinceTime=x', 'sinceTime: Invalid value: "x"'],
    [aServedStatus(), 'sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z', 'at most one of'],
    [aServedStatus(), 'container=x', 'container x is not valid for pod web'],
    [aServedStatus(), '', 'is not in the folder of its pod'],
  ])('%# says why', (status, query, words) => {
    expect(() => log(status)(ask(query))).toThrow(words);
  });
});

describe('events', () => {
  const event = (uid: string, message: string) => ({
    ...{ pod: { uid, namespace: 'default', name: uid }, type: 'Normal' as const, reason: 'Started', message },
    ...{ container: 'main', fieldPath: 'spec.initContainers{main}' },
    ...{ count: 2, firstAtMs: 0, lastAtMs: 1_000 },
  });
  const read = () => [event('a', 'one'), event('b', 'two')];
  const handle = listEvents({ read, nodeName: 'node', version: () => 7 });
  const list = (query: string): unknown => bodyOf(handle(ask(query, { params: {} })) as ApiAnswer);

  it('of one pod are found by its uid', () => {
    const found = list('fieldSelector=involvedObject.uid%3Db,reason=Started');
    expect(found).toMatchObject({
      kind: 'EventList',
      items: [
        {
          message: 'two',
          involvedObject: { uid: 'b', fieldPath: 'spec.initContainers{main}' },
          lastTimestamp: '1970-01-01T00:00:01Z',
        },
      ],
    });
    expect(found).toHaveProperty('items.length', 1);
  });

  it('have no labels, so that none is found by one', () => {
    expect(list('labelSelector=app%3Dweb')).toHaveProperty('items.length', 0);
    expect(list('labelSelector=!app')).toHaveProperty('items.length', 2);
  });
});
