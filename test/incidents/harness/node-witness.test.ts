import { expect, it } from 'vitest';
import { compareDeaths } from './node-witness.js';

const died = (id: string): string =>
  `I1130 16:05:55.546253    9919 kubelet.go:2788] "SyncLoop (PLEG): event for pod" pod="default/web-incident" event={"ID":"64218d","Type":"ContainerDied","Data":"${id}"}`;
const record = (containerId: string, reason = 'ContainerDied') => ({ reason, details: { containerId } });

it('compares the deaths in a kubelet’s log with those on record', () => {
  const log = [died('aa'), died('bb'), died('cc'), died('aa').replace('Died', 'Started'), died('bb')].join(
    '\n',
  );
  const records = [record('aa'), record('bb'), record('bb'), record('cc', 'ContainerRemoved'), record('dd')];
  expect(compareDeaths(log, records)).toEqual({ deaths: 3, missing: ['cc'], twice: ['bb'] });
  expect(compareDeaths('', [])).toEqual({ deaths: 0, missing: [], twice: [] });
});
