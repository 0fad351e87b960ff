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
import { composeEventStatus } from './event-status.js';

const NEW = aSandbox({ id: 'new', attempt: 1 });
const OLD = aSandbox({ id: 'old', state: 'exited' });
const inNew = (state: ObservedState) => aContainer({ id: 'a', name: 'a', state, sandboxId: 'new' });
const LAST = aContainer({ id: 'l', name: 'a', state: 'exited', sandboxId: 'old' });

/** A list entry; what has not changed is the same object in each list. */
const see = (state: ObservedState, last = LAST): ObservedPod => ({
  ...aPod(),
  sandboxes: [NEW, OLD],
  containers: [last, inNew(state)],
});

/** The status in an event: the newest sandbox, with its container in that state. */
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
  return composeEventStatus({ seen, accepted, known, told });
}

it('is the status of the event, with what was known of the rest of the pod', () => {
  const accepted = see('running');
  const status = combine(see('exited'), tell('exited'), accepted);
  expect(status?.containers).toEqual([
    aContainerStatus(inNew('exited'), { exitCode: 7 }),
    aContainerStatus(LAST),
  ]);
  expect(status?.sandboxes.map(({ id }) => id)).toEqual(['new', 'old']);
  expect(status?.ips).toEqual(aSandboxStatus(NEW).ips);
});

it('is undefined when the list shows something in another state than the event', () => {
  expect(combine(see('exited'), tell('running'), see('created'))).toBeUndefined();
  expect(combine(see('running'), tell('exited'), see('created'))).toBeUndefined();
});

it('is undefined when something has changed that the event does not cover', () => {
  const accepted = see('running');
  const other = aContainer({ id: 'l', name: 'a', state: 'running', sandboxId: 'old' });
  expect(combine(see('exited', other), tell('exited'), accepted)).toBeUndefined();
  expect(combine(see('exited'), tell('exited'))).toBeUndefined();
});

it('works for a new pod when the event covers all of it', () => {
  const seen = aPod({ sandboxes: [NEW], containers: [inNew('running')] });
  expect(combine(seen, tell('running'))?.containers).toHaveLength(1);
  const { sandboxes } = tell('running');
  expect(combine(seen, { sandboxes, containers: [] })).toBeUndefined();
});

it('is the known status for what has not changed, whatever the event had', () => {
  const accepted = see('running');
  const told = tell('exited');
  const late = { ...told, containers: [...told.containers, aContainerStatus(LAST, { reason: 'before' })] };
  expect(combine(see('exited'), late, accepted)?.containers).toMatchObject([
    { id: 'a', state: 'exited', exitCode: 7 },
    { id: 'l', reason: 'Completed' },
  ]);
});

it('takes only the reason from the event if that is lack of memory, which the runtime learns after the exit', () => {
  const accepted = see('running');
  const told = tell('exited');
  const late = { ...told, containers: [...told.containers, aContainerStatus(LAST, { reason: 'OOMKilled' })] };
  expect(combine(see('exited'), late, accepted)?.containers).toMatchObject([
    { id: 'a', state: 'exited' },
    { id: 'l', reason: 'OOMKilled' },
  ]);
});
