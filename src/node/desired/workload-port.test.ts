import { describe, expect, it } from 'vitest';
import { type ClusterObject } from '#kube/workloads/workload.js';
import { workloadPort } from './workload-port.js';

function openPort() {
  const lines: string[] = [];
  const handed: boolean[] = [];
  const port = workloadPort(
    'file',
    { deliver: (_pods, options) => void handed.push(options?.isComplete ?? true) },
    {
      workloads: { deliver: (_source, { hand }) => hand([], true) },
      services: { deliver: () => undefined },
      logger: { info: (message, values) => void lines.push(`${message} ${JSON.stringify(values)}`) },
    },
  );
  return { lines, handed, deliver: (...objects: ClusterObject[]) => port.deliver([], { objects }) };
}

const make = (kind: ClusterObject['kind'], name: string): ClusterObject => ({
  ...{ apiVersion: 'v1', kind, metadata: { name, namespace: 'team' }, spec: {} },
});

describe('objects without effect', () => {
  it('are named once for as long as they are there', () => {
    const { lines, handed, deliver } = openPort();
    const [team, robot] = [make('Namespace', 'team'), make('ServiceAccount', 'robot')];
    deliver(team, robot);
    deliver(team, robot, robot);
    expect(lines).toEqual([
      'Namespace is accepted without effect: a namespace exists as soon as something is in it {"object":"team"}',
      'ServiceAccount is accepted without effect: no API server issues tokens for it {"object":"team/robot"}',
    ]);
    deliver(robot);
    deliver(team, robot);
    expect(lines).toHaveLength(3);
    expect(lines[2]).toContain('"team"');
    expect(handed).toEqual([true, true, true, true]);
  });
});
