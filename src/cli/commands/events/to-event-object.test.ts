import { expect, it } from 'vitest';
import { toEventObject } from './to-event-object.js';
import { type HistoryRecord } from '../../shared/history/history-reader.js';

const RECORD: HistoryRecord = {
  ...{ id: '1000-1', atMs: 1_000, kind: 'restart', type: 'Normal', reason: 'Restarted', message: 'again' },
  pod: { uid: 'u1', namespace: 'default', name: 'web' },
};

it('an event about a workload says of which kind it is', () => {
  const about = { kind: 'Job', apiVersion: 'batch/v1' };
  expect(toEventObject({ ...RECORD, about }).involvedObject).toEqual({
    ...{ ...about, name: 'web', namespace: 'default', uid: 'u1' },
  });
});

it.each<[string, Partial<HistoryRecord>, string | undefined]>([
  ['a pod', {}, undefined],
  ['a container', { container: 'main' }, 'spec.containers{main}'],
  [
    'an init container',
    { container: 'setup', fieldPath: 'spec.initContainers{setup}' },
    'spec.initContainers{setup}',
  ],
])('an event about %s says where that stands', (_, more, fieldPath) => {
  expect(toEventObject({ ...RECORD, ...more }).involvedObject).toEqual({
    ...{ kind: 'Pod', name: 'web', namespace: 'default', uid: 'u1' },
    ...(fieldPath !== undefined && { fieldPath }),
  });
});
