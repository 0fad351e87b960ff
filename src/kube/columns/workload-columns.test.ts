import { describe, expect, it } from 'vitest';
import { columnsOf } from './resource-columns.js';

const NOW = Date.parse('2026-11-29T12:00:00Z');
const template = {
  spec: {
    containers: [
      { name: 'a', image: 'a:1' },
      { name: 'b', image: 'b:1' },
    ],
  },
};
const selector = { matchLabels: { tier: 'x', app: 'web' } };

describe('the columns of workloads are those of kubectl', () => {
  it.each([
    [
      'deployments',
      { replicas: 3, selector, template },
      { readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2 },
      'NAME READY UP-TO-DATE AVAILABLE AGE CONTAINERS IMAGES SELECTOR',
      ['web', '2/3', '1', '2', '60m', 'a,b', 'a:1,b:1', 'app=web,tier=x'],
    ],
    [
      'replicasets',
      { replicas: 3, selector, template },
      { replicas: 2, readyReplicas: 1 },
      'NAME DESIRED CURRENT READY AGE CONTAINERS IMAGES SELECTOR',
      ['web', '3', '2', '1', '60m', 'a,b', 'a:1,b:1', 'app=web,tier=x'],
    ],
    [
      'replicationcontrollers',
      { replicas: 1, selector: { app: 'web' }, template },
      {},
      'NAME DESIRED CURRENT READY AGE CONTAINERS IMAGES SELECTOR',
      ['web', '1', '0', '0', '60m', 'a,b', 'a:1,b:1', 'app=web'],
    ],
    [
      'statefulsets',
      { replicas: 2, template },
      { readyReplicas: 2 },
      'NAME READY AGE CONTAINERS IMAGES',
      ['web', '2/2', '60m', 'a,b', 'a:1,b:1'],
    ],
    [
      'daemonsets',
      { template },
      { desiredNumberScheduled: 1, currentNumberScheduled: 1, numberReady: 1 },
      'NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE CONTAINERS IMAGES SELECTOR',
      ['web', '1', '1', '1', '0', '0', '<none>', '60m', 'a,b', 'a:1,b:1', '<none>'],
    ],
    [
      'jobs',
      { completions: 4, template },
      {
        ...{ succeeded: 4, startTime: '2026-11-29T11:00:00Z', completionTime: '2026-11-29T11:01:05Z' },
        conditions: [{ type: 'Complete', status: 'True' }],
      },
      'NAME STATUS COMPLETIONS DURATION AGE CONTAINERS IMAGES SELECTOR',
      ['web', 'Complete', '4/4', '65s', '60m', 'a,b', 'a:1,b:1', '<none>'],
    ],
    [
      'jobs',
      { parallelism: 3 },
      {},
      'NAME STATUS COMPLETIONS DURATION AGE CONTAINERS IMAGES SELECTOR',
      ['web', 'Running', '0/1 of 3', '', '60m', '', '', '<none>'],
    ],
    [
      'cronjobs',
      { schedule: '* * * * *', suspend: true },
      { active: [{}], lastScheduleTime: '2026-11-29T11:59:00Z' },
      'NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE CONTAINERS IMAGES SELECTOR',
      ['web', '* * * * *', '<none>', 'True', '1', '60s', '60m', '', '', '<none>'],
    ],
    [
      'persistentvolumeclaims',
      { accessModes: ['ReadWriteOnce', 'ReadWriteMany'], volumeName: 'pvc-1' },
      { phase: 'Bound', capacity: { storage: '1Gi' } },
      'NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE VOLUMEMODE',
      ['web', 'Bound', 'pvc-1', '1Gi', 'RWO,RWX', '', '<unset>', '60m', 'Filesystem'],
    ],
  ])('%s %j', (plural, spec, status, head, cells) => {
    const { names, wide, row } = columnsOf(plural);
    expect([...names, ...wide].join(' ').toUpperCase()).toBe(head);
    const metadata = { name: 'web', creationTimestamp: '2026-11-29T11:00:00Z' };
    expect(row({ metadata, spec, status } as object, NOW)).toEqual(cells);
  });
});
