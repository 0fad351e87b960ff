import { expect, it } from 'vitest';
import { describeService } from './describe-service.js';
import { TabWriter } from '../../shared/describe/tab-writer.js';

const SERVICE = {
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    ...{ type: 'NodePort', clusterIP: '10.192.16.20', selector: { app: 'web' }, sessionAffinity: 'None' },
    ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 'web', nodePort: 30_080 }],
  },
};

it('describes a Service as kubectl does, with where its ports lead', () => {
  const addresses = ['10.88.0.2', '10.88.0.3', '10.88.0.4', '10.88.0.5'].map((ip) => ({ ip }));
  const endpoints = { subsets: [{ addresses, ports: [{ name: 'http', port: 8080 }] }] };
  const writer = new TabWriter();
  describeService(SERVICE, { endpoints, events: [], nowMs: 0 }, writer);
  expect(writer.lines()).toEqual([
    'Selector:          app=web',
    'Type:              NodePort',
    'IP:                10.192.16.20',
    'Port:              http  80/TCP',
    'TargetPort:        web/TCP',
    'NodePort:          http  30080/TCP',
    'Endpoints:         10.88.0.2:8080,10.88.0.3:8080,10.88.0.4:8080 + 1 more...',
    'Session Affinity:  None',
    'Events:            <none>',
  ]);
});

it('describes one that leads to another name', () => {
  const service = { metadata: { name: 'ext' }, spec: { type: 'ExternalName', externalName: 'example.org' } };
  const writer = new TabWriter();
  describeService(service, { endpoints: undefined, events: undefined, nowMs: 0 }, writer);
  expect(writer.lines()).toContain('External Name:     example.org');
});
