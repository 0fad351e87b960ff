import { expect, it } from 'vitest';
import { type ListedNode } from './facts/event-witness.js';
import { type IllShim, type RuntimeWork } from './host/host-facts.js';
import { known, notKnown } from './looked.js';
import { aNode } from '#support/builders/node-facts-builder.js';
import { diagnose } from './diagnose.js';
import { summarizeKernelLog } from './host/kernel-log.js';
import { nameKilled, nameShims } from './name-shims.js';

const SHIM: IllShim = {
  ...{ pid: 20, command: 'containerd-shim', state: 'T', waitsIn: 'do_signal_stop' },
  ...{ sandboxId: 's1', illness: 'stopped', helpers: [] },
};
const WEB = { uid: 'u-web', namespace: 'default', name: 'web' };
const NOTHING = { lists: undefined, ofKubelet: notKnown('nobody was asked') };
const LISTS = { sandboxes: [{ id: 's1', pod: WEB, ready: false }], containers: [] } as unknown as ListedNode;
const OF_KUBELET = known({ items: [{ metadata: WEB }, { metadata: {} }] });

const work = (...illShims: IllShim[]) =>
  known({
    ...{ calls: [], callCount: 0, endedCalls: [], endedCallCount: 0, asked: 1 },
    ...{ illShims, illShimCount: illShims.length },
  } satisfies RuntimeWork);
const podOf = (shim: IllShim, names: Parameters<typeof nameShims>[1]) => {
  const named = nameShims(work(shim), names);
  return named.known ? named.value.illShims[0]?.pod : undefined;
};

it('names the pod of a shim by the sandbox that the runtime lists, or by what the kubelet has of that uid', () => {
  expect(podOf(SHIM, NOTHING)).toBeUndefined();
  expect(podOf(SHIM, { ...NOTHING, lists: LISTS })).toEqual(WEB);
  expect(podOf({ ...SHIM, podUid: 'u-web' }, { ...NOTHING, ofKubelet: OF_KUBELET })).toEqual(WEB);
  expect(podOf({ ...SHIM, podUid: 'u-db' }, { ...NOTHING, ofKubelet: OF_KUBELET })).toBeUndefined();
  expect(podOf(SHIM, { ...NOTHING, ofKubelet: OF_KUBELET })).toBeUndefined();
});

it('leaves the name that a bundle has, and what could not be examined', () => {
  const own = { uid: 'u', namespace: 'shop', name: 'own' };
  expect(podOf({ ...SHIM, pod: own }, { lists: LISTS, ofKubelet: OF_KUBELET })).toEqual(own);
  const unseen = notKnown('/proc cannot be read');
  expect(nameShims(unseen, { lists: LISTS, ofKubelet: OF_KUBELET })).toBe(unseen);
});

it('names the pod and container of a process that was killed, by the cgroup that it was in', () => {
  const [uid, id] = ['0b8d4f5e-1111-2222-3333-444455556666', 'c'.repeat(64)];
  const group = `/kubepods.slice/kubepods-pod${uid.replaceAll('-', '_')}.slice/cri-containerd-${id}.scope`;
  const words = `nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=${group},task=java,pid=77,uid=0`;
  const log = known(
    summarizeKernelLog(
      [
        `4,1,15000000,-;oom-kill:constraint=CONSTRAINT_NONE,${words}\n`,
        '4,2,15000000,-;Out of memory: Killed process 77 (java) total-vm:9kB\n',
      ],
      20_000,
    ),
  );
  const pod = { uid, namespace: 'shop', name: 'cart' };
  const lists = {
    ...{ sandboxes: [{ id: 's1', pod, ready: true }], containers: [{ id, name: 'app', sandboxId: 's1' }] },
  } as unknown as ListedNode;
  const kernelLog = nameKilled(log, { ...NOTHING, lists });
  const [finding] = diagnose(aNode({ machine: { kernelLog } }));
  expect(finding).toMatchObject({ code: 'OutOfMemory', pod, container: 'app', process: { pid: 77 } });
  expect(finding!.message).toContain('killed java (pid 77) of container app of pod shop/cart');
  const ofKubelet = known({ items: [{ metadata: pod }] });
  expect(nameKilled(log, { lists: undefined, ofKubelet })).toMatchObject({ value: { killed: [{ pod }] } });
  expect(nameKilled(log, NOTHING)).toEqual(log);
});
