import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { computePodRequests } from '#kube/pod/pod-requests.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { ActivePods } from './active-pods.js';
import { type HostPort, hostPortsOf } from './host-ports.js';

const NAMES = ['a', 'b', 'c', 'd'];
const ADDRESSES = ['', '0.0.0.0', '10.0.0.1', '10.0.0.2'];
const SEED = 20261121;

const port = fc.record({
  hostPort: fc.integer({ min: 80, max: 82 }),
  hostIP: fc.constantFrom(...ADDRESSES),
  protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
});
const step = fc.oneof(
  fc.record({
    op: fc.constant('want' as const),
    name: fc.constantFrom(...NAMES),
    cpuMilli: fc.integer({ min: 0, max: 3_000 }),
    ports: fc.array(port, { maxLength: 3 }),
  }),
  fc.record({ op: fc.constantFrom('end' as const, 'remove' as const), name: fc.constantFrom(...NAMES) }),
  fc.record({ op: fc.constant('ask' as const), name: fc.constantFrom(...NAMES), port }),
);

it('what active pods claim together is what they claim one by one, whatever came before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const wanted = new Map<string, NodePod>();
      const ended = new Set<string>();
      const findActive = (uid: string): NodePod | undefined => (ended.has(uid) ? undefined : wanted.get(uid));
      const active = new ActivePods({ findActive });
      for (const each of steps) {
        const uid = `uid-${each.name}`;
        if (each.op !== 'ask') active.changed(uid);
        switch (each.op) {
          case 'want':
            ended.delete(uid);
            wanted.set(uid, aPodWith(each.name, each.cpuMilli, each.ports));
            break;
          case 'end':
            ended.add(uid);
            break;
          case 'remove':
            wanted.delete(uid);
            break;
          case 'ask': {
            const others = [...wanted.keys()]
              .filter((other) => other !== uid)
              .flatMap((other) => findActive(other) ?? []);
            const claims = active.claimsBeside(uid);
            expect(claims.pods).toBe(others.length);
            expect([...claims.uids()].sort()).toEqual(others.map(({ metadata }) => metadata.uid).sort());
            const cpu = others.map(({ spec }) => computePodRequests(spec).cpuMilli);
            expect(claims.requests.cpuMilli).toBe(cpu.reduce((sum, one) => sum + one, 0n));
            const { hostPort, hostIP, protocol } = each.port;
            const asked: HostPort = { port: hostPort, address: hostIP, protocol };
            const taken = others.flatMap(hostPortsOf);
            expect(claims.collides(asked)).toBe(taken.some((other) => collide(asked, other)));
          }
        }
      }
    }),
    { seed: SEED, numRuns: 300 },
  );
});

function collide(one: HostPort, other: HostPort): boolean {
  const addresses = [one.address, other.address];
  const isSame =
    one.address === other.address || addresses.some((each) => ['', '0.0.0.0', '::'].includes(each));
  return one.port === other.port && one.protocol === other.protocol && isSame;
}

function aPodWith(
  name: string,
  cpuMilli: number,
  ports: readonly { hostPort: number; hostIP: string; protocol: 'TCP' | 'UDP' }[],
): NodePod {
  const resources = { requests: { cpu: `${cpuMilli}m` } };
  const container = { name: 'main', image: 'i', resources };
  return aNodePod({
    name,
    spec: { containers: [{ ...container, ports: ports.map((each) => ({ containerPort: 80, ...each })) }] },
  });
}
