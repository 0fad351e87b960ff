import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdate, type PodUpdateType } from '#kube/pod/pod-update.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { LABELS } from '../../../watch/observed/labels.js';
import { type ObservedPod, type PodOwner, type PodStatus } from '../../../watch/observed/runtime.js';
import { aPod, aPodStatus, aSandboxStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { AdoptedPods } from './adopted-pods.js';
import { PodAdoption } from './adopt-pods.js';

const web = aNodePod();
const never = new AbortController().signal;

let folder: string;
let adopted: AdoptedPods;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-adopt-'));
  adopted = await AdoptedPods.open(join(folder, 'adopted-pods.json'));
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

interface Scene {
  readonly clock: FakeClock;
  readonly logger: LogRecorder;
  readonly adoption: PodAdoption;
  /** How often the runtime was asked for all pods. */
  readonly lists: () => number;
  /** The uids under which the pods of an update come out. */
  readonly send: (type: PodUpdateType, ...pods: NodePod[]) => Promise<string[]>;
}

function setUp(listed: readonly ObservedPod[], { isAdopting = true, fails = 0, mark = '' } = {}): Scene {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  let failures = fails;
  let lists = 0;
  const adoption = new PodAdoption({
    ...{ clock, logger, adopted, isAdopting },
    runtime: {
      listPods: async () => {
        lists++;
        if (failures-- > 0) throw new Error('no runtime');
        return Promise.resolve(listed);
      },
      getPodStatus: async (pod) => {
        const labels: Record<string, string> = mark === '' ? {} : { [LABELS.nodeInstance]: mark };
        const sandboxes = pod.sandboxes.map((sandbox) => aSandboxStatus(sandbox, { labels }));
        return Promise.resolve(aPodStatus(pod, { sandboxes }));
      },
    },
  });
  const send: Scene['send'] = async (type, ...pods) => {
    const updates: PodUpdate[] = [];
    async function* one(): AsyncGenerator<PodUpdate> {
      yield { type, source: 'file', pods };
    }
    for await (const update of adoption.updates(one(), never)) updates.push(update);
    return updates.flatMap((update) => update.pods.map(({ metadata }) => metadata.uid));
  };
  return { clock, logger, adoption, lists: () => lists, send };
}

describe('taking over pods', () => {
  it('hands a pod on under the uid of the one that a kubelet left, with that on record', async () => {
    const { send } = setUp([aPod({ uid: 'left' }), aPod({ uid: 'else', name: 'db' })]);
    expect(await send('ADD', web, aNodePod({ name: 'api' }))).toEqual(['left', 'uid-api']);
    expect(await send('UPDATE', web)).toEqual(['left']);
    expect(adopted.all().map(({ uid, name }) => [uid, name])).toEqual([['left', 'web']]);
  });

  it.each(['../../../evil', '..', '/etc', 'a/b', 'a..b', '', '.hidden', 'x'.repeat(129), 'a\0b'])(
    'leaves alone a pod after whose uid no folder can be named: %j',
    async (uid) => {
      const { send, logger, adoption } = setUp([aPod({ uid })]);
      expect(await send('ADD', web)).toEqual(['uid-web']);
      expect(adopted.all()).toEqual([]);
      expect(logger.lines).toMatchObject([
        {
          level: 'warn',
          message: 'Pod is not taken over: folders cannot be named after its uid',
          fields: { leftUID: uid },
        },
      ]);
      const annotations = { [STATIC_POD_ANNOTATIONS.source]: 'api' };
      const observed = aPod({ uid });
      const status = aPodStatus(observed, {
        sandboxes: [aSandboxStatus(observed.sandboxes[0], { annotations })],
      });
      expect(adoption.findLeft([status])).toEqual([]);
      const other = aPodStatus(aPod({ uid: 'fine' }), { sandboxes: status.sandboxes });
      expect(adoption.findLeft([other]).map((each) => each.uid)).toEqual(['fine']);
      await setUp([aPod({ uid }), aPod({ uid: 'left' })]).send('ADD', web);
      expect(adopted.all().map((each) => each.uid)).toEqual(['left']);
    },
  );

  it('goes by the record alone unless it was asked to take over', async () => {
    expect(await setUp([aPod({ uid: 'left' })], { isAdopting: false }).send('ADD', web)).toEqual(['uid-web']);
    await setUp([aPod({ uid: 'left' })]).send('ADD', web);
    const { send } = setUp([aPod({ uid: 'left' })], { isAdopting: false });
    expect(await send('ADD', web)).toEqual(['left']);
    expect(await send('REMOVE', web)).toEqual(['left']);
  });

  it('takes what runs before what has ended, and then what is newer', async () => {
    const dead = (uid: string, createdAtNs: bigint): ObservedPod =>
      aPod({
        uid,
        containers: [{ state: 'exited', createdAtNs }],
        sandboxes: [{ state: 'exited', createdAtNs }],
      });
    const running = aPod({ uid: 'running', sandboxes: [{ createdAtNs: 1n }], containers: [] });
    expect(await setUp([dead('old', 5n), running, dead('new', 9n)]).send('ADD', web)).toEqual(['running']);
    await adopted.forget('running');
    expect(await setUp([dead('old', 5n), dead('new', 9n)]).send('ADD', web)).toEqual(['new']);
  });

  it.each<[string, ObservedPod[], string]>([
    ['of another name', [aPod({ uid: 'left', name: 'db' })], ''],
    ['of another namespace', [aPod({ uid: 'left', namespace: 'kube-system' })], ''],
    ['that is nobody’s', [aPod({ uid: 'left', owner: 'other' })], ''],
    ['of another podloop', [aPod({ uid: 'left', owner: 'podloop' })], ''],
    ['in which another podloop has begun something', [aPod({ uid: 'left' })], 'other'],
    ['beside which ours runs already', [aPod({ uid: 'left' }), aPod({ owner: 'podloop' })], ''],
  ])('leaves a pod alone %s', async (_, listed, mark) => {
    expect(await setUp(listed, { mark }).send('ADD', web)).toEqual(['uid-web']);
    expect(adopted.all()).toEqual([]);
  });

  it('waits for a runtime that cannot be asked, and says so', async () => {
    const { send, clock, logger } = setUp([aPod({ uid: 'left' })], { fails: 2 });
    const sent = send('ADD', web);
    await clock.advance(1_000);
    await clock.advance(1_000);
    expect(await sent).toEqual(['left']);
    expect(logger.complaints.map(({ message }) => message)).toEqual(
      new Array(2).fill('Cannot list pods to take over, trying again'),
    );
  });

  it('forgets a pod that nobody wants once nothing of it is left, and not before', async () => {
    const { send, adoption } = setUp([aPod({ uid: 'left' })]);
    await send('ADD', web);
    await adoption.forgetGone(() => true);
    expect(adopted.has('left')).toBe(true);
    await send('REMOVE', web);
    await adoption.forgetGone(() => false);
    expect(adopted.has('left')).toBe(true);
    await adoption.forgetGone(() => true);
    expect(adopted.has('left')).toBe(false);
    expect(await setUp([]).send('ADD', web)).toEqual(['uid-web']);
  });

  it('does not forget a pod that is wanted again while another one is forgotten', async () => {
    const other = aNodePod({ name: 'other' });
    const { send, adoption } = setUp([aPod({ uid: 'left' }), aPod({ uid: 'too', name: 'other' })]);
    await send('ADD', web, other);
    await send('REMOVE', web, other);
    const forgetting = adoption.forgetGone(() => true);
    expect(await send('ADD', other)).toEqual(['too']);
    await forgetting;
    expect([adopted.has('left'), adopted.has('too')]).toEqual([false, true]);
  });

  it('takes a pod of an API server over under its own uid, and no former pod of its name', async () => {
    const annotations = { [STATIC_POD_ANNOTATIONS.source]: 'api' };
    const ofApi = (uid: string): NodePod => aNodePod({ uid, annotations });
    const { send } = setUp([aPod({ uid: 'one' })]);
    expect(await send('ADD', ofApi('two'))).toEqual(['two']);
    expect(adopted.all()).toEqual([]);
    expect(await send('ADD', ofApi('one'))).toEqual(['one']);
    expect(adopted.has('one')).toBe(true);
    // It has the name of one that is on record, and stays what it is.
    expect(await send('ADD', ofApi('three'))).toEqual(['three']);
  });

  it('asks the runtime no more for pods of an API server that a kubelet cannot have left', async () => {
    const annotations = { [STATIC_POD_ANNOTATIONS.source]: 'api' };
    const ofApi = (uid: string): NodePod => aNodePod({ uid, annotations });
    const { send, lists } = setUp([aPod({ uid: 'left' })]);
    await send('ADD', ofApi('new'));
    expect(lists()).toBe(1);
    expect(await send('ADD', ofApi('newer'))).toEqual(['newer']);
    expect(lists()).toBe(1);
    expect(await send('ADD', ofApi('left'))).toEqual(['left']);
    expect([lists(), adopted.has('left')]).toEqual([2, true]);
    // By its name any manifest may be that of a pod that was left.
    await send('ADD', aNodePod({ name: 'later' }));
    expect(lists()).toBe(3);
  });

  it('takes over what a kubelet had from its API server and nobody wants, and nothing else', async () => {
    const { adoption } = setUp([]);
    const statusOf = (uid: string, source: string, owner: PodOwner = 'kubernetes', mark = ''): PodStatus => {
      const pod = aPod({ uid, owner });
      const labels: Record<string, string> = mark === '' ? {} : { [LABELS.nodeInstance]: mark };
      const annotations = { [STATIC_POD_ANNOTATIONS.source]: source };
      const sandboxes = pod.sandboxes.map((each) => aSandboxStatus(each, { labels, annotations }));
      return aPodStatus(pod, { sandboxes });
    };
    const others = [
      statusOf('of-file', 'file'),
      statusOf('nobodys', 'api', 'other'),
      statusOf('marked', 'api', 'kubernetes', 'other'),
    ];
    const unwanted = statusOf('unwanted', 'api');
    const left = adoption.findLeft([...others, unwanted]);
    expect(left).toEqual([unwanted]);
    await adoption.takeUnwanted(left);
    expect(adopted.all().map(({ uid }) => uid)).toEqual(['unwanted']);
    expect(adoption.findLeft([unwanted])).toEqual([]);
    await adopted.forget('unwanted');
    expect(setUp([], { isAdopting: false }).adoption.findLeft([unwanted])).toEqual([]);
  });
});
