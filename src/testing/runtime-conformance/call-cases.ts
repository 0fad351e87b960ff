import assert from 'node:assert/strict';

import { type CaseScope } from './case-scope.js';

/** How the calls of a runtime must answer. */
export const CALL_CASES: Readonly<Record<string, (scope: CaseScope) => Promise<void>>> = {
  'finds one pod as the list shows it, and no pod of an unknown uid': async (scope) => {
    const pod = await scope.makePod();
    await scope.runContainer(pod);
    assert.deepEqual(await scope.runtime.findPod(pod.uid, scope.signal), await scope.getListed(pod));
    assert.equal(await scope.runtime.findPod(`${pod.uid}-unknown`, scope.signal), undefined);
  },

  'shows a pod alike in every list while nothing happens to it': async (scope) => {
    const pod = await scope.makePod();
    await scope.runContainer(pod);
    const first = await scope.getListed(pod);
    assert.deepEqual(await scope.getListed(pod), first);
  },

  'does not change what it has answered': async (scope) => {
    const pod = await scope.makePod();
    const id = await scope.runContainer(pod);
    const before = await scope.getListed(pod);
    const copy = structuredClone(before);
    await scope.driver.killContainer(id);
    await scope.awaitState(pod, id, 'exited');
    assert.deepEqual(before, copy);
  },

  'tells labels and annotations as they were given': async (scope) => {
    const pod = await scope.makePod();
    const { sandboxes } = await scope.getStatus(pod);
    const [sandbox] = sandboxes;
    assert.ok(sandbox, 'the status has no sandbox');
    assert.deepEqual({ ...sandbox.labels, ...pod.labels }, sandbox.labels);
    assert.deepEqual({ ...sandbox.annotations, ...pod.annotations }, sandbox.annotations);
  },

  'tells in a status what the list has told': async (scope) => {
    const pod = await scope.makePod();
    await scope.runToItsEnd(pod, 4);
    await scope.runContainer(pod, { name: 'other' });
    const listed = await scope.getListed(pod);
    const status = await scope.runtime.getPodStatus(listed, scope.signal);
    assert.deepEqual([status.uid, status.namespace, status.name], [pod.uid, pod.namespace, pod.name]);
    assert.deepEqual(status.containers.map(inShort), listed.containers.map(inShort));
    assert.deepEqual(
      status.sandboxes.map(({ id, state }) => [id, state]),
      listed.sandboxes.map(({ id, state }) => [id, state]),
    );
    assert.deepEqual(status.ips, status.sandboxes[0]?.ips);
  },

  'leaves out of a status what has vanished since the list': async (scope) => {
    const pod = await scope.makePod();
    const gone = await scope.runToItsEnd(pod, 0);
    const kept = await scope.runContainer(pod, { name: 'other' });
    const listed = await scope.getListed(pod);
    await scope.driver.removeContainer(gone);
    const { containers } = await scope.runtime.getPodStatus(listed, scope.signal);
    assert.deepEqual(
      containers.map(({ id }) => id),
      [kept],
    );
  },

  'answers for a pod that has vanished altogether with an empty status': async (scope) => {
    const pod = await scope.makePod();
    await scope.runToItsEnd(pod, 0);
    const listed = await scope.getListed(pod);
    await scope.removePod(pod);
    const status = await scope.runtime.getPodStatus(listed, scope.signal);
    assert.deepEqual([status.uid, status.sandboxes, status.containers, status.ips], [pod.uid, [], [], []]);
  },

  'answers calls that overlap, each with its own': async (scope) => {
    const pods = [await scope.makePod(), await scope.makePod()];
    for (const pod of pods) await scope.runContainer(pod);
    const found = await Promise.all(
      [...pods, ...pods].map(async (pod) => scope.runtime.findPod(pod.uid, scope.signal)),
    );
    assert.deepEqual(
      found.map((pod) => pod?.uid),
      [...pods, ...pods].map((pod) => pod.uid),
    );
  },

  'rejects with the reason of a signal that has aborted': async (scope) => {
    const listed = await scope.getListed(await scope.makePod());
    const reason = new Error('not wanted any more');
    const aborted = AbortSignal.abort(reason);
    const isReason = (error: unknown): boolean => error === reason;
    await assert.rejects(scope.runtime.listPods(aborted), isReason);
    await assert.rejects(scope.runtime.findPod(listed.uid, aborted), isReason);
    await assert.rejects(scope.runtime.getPodStatus(listed, aborted), isReason);
  },
};

interface InShort {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly state: string;
  readonly sandboxId: string;
}

function inShort({ id, name, attempt, state, sandboxId }: InShort): InShort {
  return { id, name, attempt, state, sandboxId };
}
