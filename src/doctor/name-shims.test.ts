import { expect, it } from 'vitest';
import { type ListedNode } from './facts/event-witness.js';
import { type IllShim, type RuntimeWork } from './host/host-facts.js';
import { known, notKnown } from './looked.js';
import { nameShims } from './name-shims.js';

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
