import { describe, expect, it } from 'vitest';
import { columnsOf } from '#kube/columns/resource-columns.js';
import { aService, anEndpointPod } from '#support/builders/service-builder.js';
import { type Service } from '#kube/workloads/workload.js';
import { type AssignedService } from './service-addresses.js';
import { computeServiceEndpoints, type EndpointPod } from './service-endpoints.js';
import { toServedServices } from './served-services.js';

const CREATED = Date.parse('2026-11-29T11:00:00Z');
const NOW = Date.parse('2026-11-29T12:00:00Z');
const assigned = (changes: Partial<AssignedService> = {}): AssignedService => ({
  ...{ uid: 'uid-web', createdAtMs: CREATED, nodePorts: {}, clusterIp: '10.192.16.20', ...changes },
});
const serve = (service: Service, given: AssignedService | undefined, ...pods: EndpointPod[]) =>
  toServedServices(
    computeServiceEndpoints([service], pods),
    given === undefined ? {} : { [`default/${service.metadata.name}`]: given },
  );
const HTTP = { name: 'http', port: 80, targetPort: 'http' };
const aWebPod = (name: string, ip: string, port: number, isReady = true): EndpointPod => {
  const containers = [{ name: 'main', image: 'a', ports: [{ name: 'http', containerPort: port }] }];
  return anEndpointPod('web', ip, { name, isReady, spec: { containers } });
};

describe('Services as an API server shows them', () => {
  it('have their address, ports of the node and what they lead to', () => {
    const [service, endpoints, slice] = serve(
      aService('web', { type: 'NodePort', ports: [HTTP] }),
      assigned({ nodePorts: { 'TCP 80': 30_080 } }),
      aWebPod('web-a', '10.88.0.2', 8080),
      aWebPod('web-b', '10.88.0.3', 8080, false),
    );
    expect(service).toMatchObject({
      ...{ apiVersion: 'v1', kind: 'Service' },
      metadata: {
        name: 'web',
        namespace: 'default',
        uid: 'uid-web',
        creationTimestamp: '2026-11-29T11:00:00Z',
      },
      spec: {
        ...{ type: 'NodePort', clusterIP: '10.192.16.20', clusterIPs: ['10.192.16.20'] },
        ...{ sessionAffinity: 'None', selector: { app: 'web' } },
        ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP', nodePort: 30_080 }],
      },
      status: { loadBalancer: {} },
    });
    const target = (name: string) => ({ kind: 'Pod', namespace: 'default', name });
    expect(endpoints).toMatchObject({
      ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'web' } },
      subsets: [
        {
          addresses: [{ ip: '10.88.0.2', targetRef: target('web-a') }],
          notReadyAddresses: [{ ip: '10.88.0.3', targetRef: target('web-b') }],
          ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        },
      ],
    });
    expect(slice).toMatchObject({
      ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
      metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
      endpoints: [
        { addresses: ['10.88.0.2'], conditions: { ready: true, serving: true, terminating: false } },
        { addresses: ['10.88.0.3'], conditions: { ready: false } },
      ],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    });
  });

  it('have a subset for each set of ports that their pods give to a name', () => {
    const pods = [aWebPod('web-a', '10.88.0.2', 8080), aWebPod('web-b', '10.88.0.3', 9090)];
    const [, endpoints] = serve(aService('web', { ports: [HTTP] }), assigned(), ...pods);
    expect(endpoints).toMatchObject({
      subsets: [
        { addresses: [{ ip: '10.88.0.2' }], ports: [{ port: 8080 }] },
        { addresses: [{ ip: '10.88.0.3' }], ports: [{ port: 9090 }] },
      ],
    });
  });

  it('have no endpoints without a selector, and are not there before they were given what they need', () => {
    expect(serve(aService('web', { selector: {} }), assigned())).toMatchObject([{ kind: 'Service' }]);
    expect(serve(aService('web'), undefined)).toEqual([]);
    const [away, ...rest] = serve(
      aService('web', { type: 'ExternalName', externalName: 'example.org', selector: {}, ports: [] }),
      { uid: 'u', createdAtMs: CREATED, nodePorts: {} },
    );
    expect(rest).toEqual([]);
    expect(away).not.toHaveProperty('spec.clusterIP');
  });
});

describe('the columns of Services are those of kubectl', () => {
  const row = (plural: string, object: object): readonly string[] => columnsOf(plural).row(object, NOW);

  it('for each type', () => {
    const nodePort = serve(
      aService('web', { type: 'NodePort', ports: [HTTP, { name: 'dns', port: 53, protocol: 'UDP' }] }),
      assigned({ nodePorts: { 'TCP 80': 30_080, 'UDP 53': 30_053 } }),
    );
    expect(row('services', nodePort[0]!)).toEqual([
      ...['web', 'NodePort', '10.192.16.20', '<none>', '80:30080/TCP,53:30053/UDP', '60m', 'app=web'],
    ]);
    const balanced = serve(aService('web', { type: 'LoadBalancer' }), assigned());
    expect(row('services', balanced[0]!).slice(1, 5)).toEqual([
      ...['LoadBalancer', '10.192.16.20', '<pending>', '80/TCP'],
    ]);
    const external = { type: 'ExternalName', externalName: 'example.org', selector: {}, ports: [] } as const;
    const away = serve(aService('web', external), { uid: 'u', createdAtMs: CREATED, nodePorts: {} });
    expect(row('services', away[0]!)).toEqual([
      ...['web', 'ExternalName', '<none>', 'example.org', '<none>', '60m', '<none>'],
    ]);
    const headless = serve(aService('web', { clusterIP: 'None' }), { ...assigned(), clusterIp: undefined });
    expect(row('services', headless[0]!).slice(1, 3)).toEqual(['ClusterIP', 'None']);
  });

  it('for endpoints, of which three are shown', () => {
    const pods = Array.from({ length: 5 }, (_, at) => aWebPod(`web-${at}`, `10.88.0.${at + 2}`, 8080));
    const [, endpoints, slice] = serve(aService('web', { ports: [HTTP] }), assigned(), ...pods);
    const three = ['10.88.0.2', '10.88.0.3', '10.88.0.4'];
    expect(row('endpoints', endpoints!)).toEqual([
      ...['web', `${three.map((ip) => `${ip}:8080`).join(',')} + 2 more...`, '60m'],
    ]);
    expect(row('endpointslices', slice!)).toEqual([
      ...['web', 'IPv4', '8080', `${three.join(',')} + 2 more...`, '60m'],
    ]);
    const [, none, empty] = serve(aService('web', { ports: [HTTP] }), assigned());
    expect(row('endpoints', none!)).toEqual(['web', '<none>', '60m']);
    expect(row('endpointslices', empty!)).toEqual(['web', 'IPv4', '<unset>', '<unset>', '60m']);
  });
});
