import { describe, expect, it } from 'vitest';
import { aService, anEndpointPod } from '#support/builders/service-builder.js';
import { type EndpointPod, computeServiceEndpoints } from './service-endpoints.js';
import { type Service } from '#kube/workloads/workload.js';

const endpointsOf = (service: Service, ...pods: EndpointPod[]) =>
  computeServiceEndpoints([service], pods)[0]!;
const ips = (list: readonly { readonly ips: readonly string[] }[]): string[] =>
  list.map((each) => each.ips[0]!);

describe('the endpoints of a Service', () => {
  it('are the addresses of its ready pods, by name', () => {
    const { ready, notReady } = endpointsOf(
      aService('web'),
      anEndpointPod('web', '10.88.0.3', { name: 'web-b' }),
      anEndpointPod('web', '10.88.0.2', { name: 'web-a' }),
      anEndpointPod('web', '10.88.0.4', { name: 'web-c', isReady: false }),
      anEndpointPod('db', '10.88.0.5', { name: 'db' }),
      anEndpointPod('web', '10.88.0.6', { name: 'web-d', namespace: 'other' }),
    );
    expect(ips(ready)).toEqual(['10.88.0.2', '10.88.0.3']);
    expect(ips(notReady)).toEqual(['10.88.0.4']);
  });

  it('contain pods that are not ready if it says so, but none that has ended or is being deleted', () => {
    const service = aService('web', { publishNotReadyAddresses: true });
    const ended = anEndpointPod('web', '10.88.0.3', { name: 'b' });
    const { ready } = endpointsOf(
      service,
      anEndpointPod('web', '10.88.0.2', { name: 'a', isReady: false }),
      { ...ended, status: { ...ended.status!, phase: 'Succeeded' } },
      { pod: anEndpointPod('web', '', { name: 'c' }).pod, status: undefined },
    );
    expect(ips(ready)).toEqual(['10.88.0.2']);
    const going = anEndpointPod('web', '10.88.0.4', { deletionTimestamp: '2026-01-02T03:04:05Z' });
    expect(ips(endpointsOf(aService('web'), going).ready)).toEqual([]);
  });

  it('have the port that each pod gives a name to', () => {
    const service = aService('web', { ports: [{ name: 'http', port: 80, targetPort: 'http' }] });
    const withPort = (name: string, containerPort: number, protocol?: 'UDP') =>
      anEndpointPod('web', '10.88.0.2', {
        ...{ name, labels: { app: 'web' } },
        spec: {
          containers: [
            {
              name: 'm',
              image: 'i',
              ports: [{ name: 'http', containerPort, ...(protocol && { protocol }) }],
            },
          ],
        },
      });
    const { ready } = endpointsOf(
      service,
      withPort('a', 8080),
      withPort('b', 9090),
      withPort('c', 7070, 'UDP'),
    );
    expect(ready.map(({ ports }) => ports.get('http'))).toEqual([8080, 9090, undefined]);
  });

  it('have a name below that of the Service if the pod asks for it', () => {
    const db = aService('db', { clusterIP: 'None' });
    const pod = (subdomain: string) =>
      anEndpointPod('db', '10.88.0.2', { labels: { app: 'db' }, spec: { hostname: 'db-0', subdomain } });
    expect(endpointsOf(db, pod('db')).ready[0]!.hostname).toBe('db-0');
    expect(endpointsOf(db, pod('other')).ready[0]!.hostname).toBeUndefined();
  });

  it('are none without a selector, and of another name', () => {
    const pod = anEndpointPod('web', '10.88.0.2');
    expect(endpointsOf(aService('web', { selector: {} }), pod).ready).toEqual([]);
    const external = aService('web', { type: 'ExternalName', externalName: 'example.org' });
    expect(endpointsOf(external, pod).ready).toEqual([]);
  });
});
