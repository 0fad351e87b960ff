import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type CriCall } from '#base/channels/channels.js';
import { sampleCalls } from './sample-calls.js';
import { SampleRing } from './sample-ring.js';

const POD = { uid: 'u', namespace: 'default', name: 'web' };

function aCall(call: Partial<CriCall>): CriCall {
  return {
    ...{ id: 1, method: 'PodSandboxStatus', operation: 'podsandbox_status', pod: undefined },
    ...{ containerId: undefined, sandboxId: 's', startedAtMonotonicMs: 0, startedAtMs: 0 },
    ...{ deadlineMs: 1_000, ...call },
  } as CriCall;
}

it('a call about a pod that was listed is sampled by the names of the pod alone', () => {
  // What the reader of a pod's status passes on is the pod as it was listed.
  const listed = { ...POD, createdAtNs: 7n, containers: [{ createdAtNs: 8n }] };
  const calls = [aCall({ pod: listed }), aCall({ method: 'ListContainers' })];
  const sampled = sampleCalls({ callsInFlight: () => calls }, new FakeClock());
  expect(sampled).toMatchObject([{ method: 'PodSandboxStatus', pod: POD }, { method: 'ListContainers' }]);
  expect(JSON.parse(JSON.stringify(sampled))).toMatchObject([{ pod: POD }, {}]);
});

it('a sample with a large number of the runtime becomes a line', () => {
  const line = new SampleRing({ maxBytes: 1_000, maxAgeMs: 1_000 }).add(0, 'check', { createdAtNs: 7n });
  expect(JSON.parse(line)).toMatchObject({ createdAtNs: '7' });
});
