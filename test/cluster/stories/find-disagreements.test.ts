import { describe, expect, it } from 'vitest';
import { type Pod } from '../../../src/cluster/client/kube-objects.js';
import { findDisagreements, type NodeViews } from './find-disagreements.js';

const status = (id: string, restartCount = 0) => ({
  ...{ name: 'main', containerID: `podloop://${id}`, restartCount, ready: true },
  ...{ image: '', imageID: '', state: { running: {} } },
});
const pod = (uid: string, phase = 'Running', containerStatuses = [status(`c-${uid}`)]): Pod => ({
  metadata: { namespace: 'default', name: `web-${uid}`, uid },
  spec: { containers: [], nodeName: 'a' },
  status: { phase, containerStatuses },
});
const sandbox = (podUid: string, isReady = true, id = `s-${podUid}`) => ({
  ...{ id, podUid, pod: `default/web-${podUid}`, isReady },
});
const container = (podUid: string, id = `c-${podUid}`, state: 'running' | 'exited' = 'running') => ({
  ...{ id, podUid, pod: `default/web-${podUid}`, name: 'main', state },
});
const inStep: NodeViews = {
  ...{ node: 'a', api: [pod('1')], agent: [pod('1')] },
  ...{ sandboxes: [sandbox('1')], containers: [container('1')], folders: ['1'] },
};
const found = (more: Partial<NodeViews>): readonly string[] => findDisagreements({ ...inStep, ...more });

describe('what API server, agent and runtime say of a node', () => {
  it('is in step when all say the same', () => {
    expect(found({})).toEqual([]);
    expect(found({ containers: [container('1'), container('1', 'c-0', 'exited')] })).toEqual([]);
  });

  it('differs when one has a pod that another has not', () => {
    expect(found({ agent: [] })).toEqual([
      'a: pod default/web-1 (1) is in the API, and the agent does not have it',
    ]);
    expect(found({ agent: [pod('1'), pod('2')] })).toEqual([
      'a: pod default/web-2 (2) is in the agent, and not in the API',
    ]);
  });

  it('differs when they hold a pod for something else', () => {
    expect(found({ agent: [pod('1', 'Running', [status('c-1', 1)])] })).toEqual([
      'a: pod default/web-1 (1): main is running id=c-1 restarts=0 ready in the API and running id=c-1 restarts=1 ready in the agent',
    ]);
    expect(found({ agent: [pod('1', 'Failed')] })).toEqual([
      'a: pod default/web-1 (1) is Running in the API and Failed in the agent',
    ]);
  });

  it('differs when something runs that nobody knows of, or does not run', () => {
    expect(found({ containers: [container('1'), container('1', 'c-2')] })).toEqual([
      'a: pod default/web-1 (1): container c-2 main runs, and the API does not say so',
    ]);
    expect(found({ containers: [container('1', 'c-1', 'exited')] })).toEqual([
      'a: pod default/web-1 (1): main runs as c-1 in the API, and not in the runtime',
    ]);
    expect(found({ sandboxes: [] })).toEqual(['a: pod default/web-1 (1) is Running without a sandbox']);
    expect(found({ sandboxes: [sandbox('1'), sandbox('1', true, 's-2')] })).toEqual([
      'a: pod default/web-1 (1) has 2 sandboxes that are ready',
    ]);
  });

  it('differs when something is left of a pod that has ended, or is gone', () => {
    const over = pod('1', 'Succeeded', []);
    expect(found({ api: [over], agent: [over], containers: [] })).toEqual([
      'a: pod default/web-1 (1) is Succeeded and has a sandbox that is ready',
    ]);
    expect(
      found({
        ...{ sandboxes: [sandbox('1'), sandbox('2', false)], folders: ['1', '2'] },
        containers: [container('1'), container('2', 'c-2', 'exited')],
      }),
    ).toEqual([
      'a: sandbox s-2 of default/web-2 (2) is left',
      'a: exited container c-2 main of default/web-2 (2) is left',
      'a: a folder of pod 2 is left',
    ]);
  });
});
