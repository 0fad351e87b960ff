import assert from 'node:assert/strict';

import { composeEventStatus } from '../../watch/pleg/announced/event-status.js';
import { emptyPodStatus, type RuntimeEvent } from '../../watch/observed/runtime.js';
import { type CaseScope } from './case-scope.js';

/** What a runtime with events must tell. They are hints: none may be wrong about the pod, any may be missing its type. */
export const EVENT_CASES: Readonly<Record<string, (scope: CaseScope) => Promise<void>>> = {
  'tells of a start and an end, by the ids of container and pod': async (scope) => {
    await using reader = await read(scope);
    const pod = await scope.makePod();
    const id = await scope.runContainer(pod);
    await scope.awaitValue('the start is told', () => reader.find(id, 'started'));
    await scope.driver.killContainer(id);
    const stopped = await scope.awaitValue('the end is told', () => reader.find(id, 'stopped'));
    assert.ok(
      stopped.podUid === undefined || stopped.podUid === pod.uid,
      `told of the pod ${stopped.podUid ?? ''}`,
    );
  },

  'tells of the sandbox as of a container': async (scope) => {
    await using reader = await read(scope);
    const pod = await scope.makePod();
    await scope.awaitValue('the start is told', () => reader.find(pod.sandboxId, 'started'));
    await scope.driver.stopSandbox(pod.sandboxId);
    await scope.awaitValue('the end is told', () => reader.find(pod.sandboxId, 'stopped'));
  },

  'tells of a pod, where it does, what it then answers': async (scope) => {
    await using reader = await read(scope);
    const pod = await scope.makePod();
    const id = await scope.runContainer(pod);
    await scope.awaitValue('the start is told', () => reader.find(id, 'started'));
    await scope.driver.killContainer(id);
    const { statuses } = await scope.awaitValue('the end is told', () => reader.find(id, 'stopped'));
    if (statuses === undefined) return;
    const seen = await scope.awaitValue('the end is shown', async () => {
      const found = await scope.runtime.findPod(pod.uid, scope.signal);
      return found?.containers[0]?.state === 'exited' ? found : undefined;
    });
    const known = emptyPodStatus(pod.uid);
    const told = composeEventStatus({ seen, accepted: undefined, known, told: statuses() });
    assert.deepEqual(told, await scope.runtime.getPodStatus(seen, scope.signal));
  },

  'stops telling when the signal aborts, and rejects with its reason': async (scope) => {
    const reader = await read(scope);
    await reader[Symbol.asyncDispose]();
    const heard = reader.events.length;
    const pod = await scope.makePod();
    await scope.runToItsEnd(pod, 0);
    assert.equal(reader.events.length, heard, 'events after the end');
  },
};

interface Reader extends AsyncDisposable {
  readonly events: readonly RuntimeEvent[];
  find(containerId: string, type: RuntimeEvent['type']): RuntimeEvent | undefined;
}

/** Reads events until it is disposed of. Not all runtimes say when they listen: a sandbox that is heard of does. */
async function read(scope: CaseScope): Promise<Reader> {
  const events: RuntimeEvent[] = [];
  const stopping = new AbortController();
  const reason = new Error('heard enough');
  const opening = new AbortController();
  const watching = scope.runtime.watchEvents?.(
    {
      onOpen: () => opening.abort(),
      onEvent: (event) => {
        events.push(event);
      },
    },
    stopping.signal,
  );
  assert.ok(watching, 'the runtime has no events');
  // Looked at when the reader is disposed of; until then it must not count as unhandled.
  watching.catch(() => undefined);
  while (!opening.signal.aborted && events.length === 0) {
    scope.signal.throwIfAborted();
    await scope.removePod(await scope.makePod());
    await scope.driver.pause();
  }
  return {
    events,
    find: (containerId, type) =>
      events.find((event) => event.containerId === containerId && event.type === type),
    [Symbol.asyncDispose]: async () => {
      stopping.abort(reason);
      await assert.rejects(watching, (error) => error === reason);
    },
  };
}
