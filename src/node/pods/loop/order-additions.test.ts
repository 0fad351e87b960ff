import { describe, expect, it } from 'vitest';
import {
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
} from '../../../watch/observed/runtime.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { orderAdditions } from './order-additions.js';

const part = (kind: ObservedContainer['kind'], name: string, state: ObservedState): ObservedContainer => ({
  ...{ kind, id: `${name}-${state}`, name, attempt: 0, state, sandboxId: 's', createdAtNs: 1n },
});

const observed = (sandbox: ObservedState, ...containers: [string, ObservedState][]): ObservedPod => ({
  ...{ uid: '', namespace: 'default', name: '', owner: 'podloop' },
  sandboxes: [part('sandbox', 'sandbox', sandbox)],
  containers: containers.map(([name, state]) => part('container', name, state)),
});

const SEEN: Readonly<Record<string, ObservedPod>> = {
  'uid-well': observed('running', ['init', 'exited'], ['main', 'exited'], ['main', 'running']),
  'uid-died': observed('running', ['main', 'running'], ['main', 'exited'], ['side', 'exited']),
  'uid-created': observed('running', ['main', 'created']),
  'uid-down': observed('exited', ['main', 'exited']),
};

describe('the order of additions', () => {
  it('is those that run in part, those that run, and those that do not, each as given', () => {
    const containers = ['main', 'side'].map((name) => ({ name, image: 'i' }));
    const pods = ['down', 'new', 'well', 'created'].map((name) => aNodePod({ name }));
    const died = aNodePod({ name: 'died', spec: { containers } });
    const ordered = orderAdditions([...pods, died], (uid) => SEEN[uid]);
    expect(ordered.map(({ metadata }) => metadata.name)).toEqual(['created', 'died', 'well', 'down', 'new']);
  });
});
