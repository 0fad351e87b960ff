import { expect, it } from 'vitest';
import { type ObservedPod, type ObservedState, type PodStatus } from '../../observed/runtime.js';
import {
  aContainer,
  aContainerStatus,
  aPod,
  aPodStatus,
  aSandbox,
  aSandboxStatus,
} from '#testing/builders.js';
import { statusAsTold } from './told-status.js';

const NEW = aSandbox({ id: 'new', attempt: 1 });
const OLD = aSandbox({ id: 'old', state: 'exited' });
const inNew = (state: ObservedState) => aContainer({ id: 'a', name: 'a', state, sandboxId: 'new' });
const LAST = aContainer({ id: 'l', name: 'a', state: 'exited', sandboxId: 'old' });

/** As looks show it: what has not changed is the same object in each. */
const see = (state: ObservedState, last = LAST): ObservedPod => ({
  ...aPod(),
  sandboxes: [NEW, OLD],
  containers: [last, inNew(state)],
});

/** What an event tells of the newest sandbox, with its container in that state. */
const tell = (state: ObservedState) => ({
  sandboxes: [aSandboxStatus(NEW)],
  containers: [aContainerStatus(inNew(state), { exitCode: 7 })],
});

function combine(
  seen: ObservedPod,
  told: ReturnType<typeof tell>,
  accepted?: ObservedPod,
): PodStatus | undefined {
  const known =
    accepted === undefined ? aPodStatus(aPod({ sandboxes: [], containers: [] })) : aPodStatus(accepted);
  return statusAsTold({ seen, accepted, known, told });
}

it('is what the event told, with what was known of the rest of the pod', () => {
  const accepted = see('running');
  const status = combine(see('exited'), tell('exited'), accepted);
  expect(status?.containers).toEqual([
    aContainerStatus(inNew('exited'), { exitCode: 7 }),
    aContainerStatus(LAST),
  ]);
  expect(status?.sandboxes.map(({ id }) => id)).toEqual(['new', 'old']);
  expect(status?.ips).toEqual(aSandboxStatus(NEW).ips);
});

it('is nothing when the look shows something in another state than the event had it', () => {
  expect(combine(see('exited'), tell('running'), see('created'))).toBeUndefined();
  expect(combine(see('running'), tell('exited'), see('created'))).toBeUndefined();
});

it('is nothing when something has changed that the event does not tell of', () => {
  const accepted = see('running');
  const other = aContainer({ id: 'l', name: 'a', state: 'running', sandboxId: 'old' });
  expect(combine(see('exited', other), tell('exited'), accepted)).toBeUndefined();
  expect(combine(see('exited'), tell('exited'))).toBeUndefined();
});

it('is of a pod that is new when the event tells of all of it', () => {
  const seen = aPod({ sandboxes: [NEW], containers: [inNew('running')] });
  expect(combine(seen, tell('running'))?.containers).toHaveLength(1);
  const { sandboxes } = tell('running');
  expect(combine(seen, { sandboxes, containers: [] })).toBeUndefined();
});

it('is as it was known of what has not changed, however the event had it', () => {
  const accepted = see('running');
  const told = tell('exited');
  const late = { ...told, containers: [...told.containers, aContainerStatus(LAST, { reason: 'before' })] };
  expect(combine(see('exited'), late, accepted)?.containers).toMatchObject([
    { id: 'a', state: 'exited', exitCode: 7 },
    { id: 'l', reason: 'Completed' },
  ]);
});

it('is what the event told of the reason alone where that is a lack of memory, of which the runtime learns after the end', () => {
  const accepted = see('running');
  const told = tell('exited');
  const late = { ...told, containers: [...told.containers, aContainerStatus(LAST, { reason: 'OOMKilled' })] };
  expect(combine(see('exited'), late, accepted)?.containers).toMatchObject([
    { id: 'a', state: 'exited' },
    { id: 'l', reason: 'OOMKilled' },
  ]);
});
