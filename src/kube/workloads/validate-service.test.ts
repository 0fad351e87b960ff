import { describe, expect, it } from 'vitest';
import { formatFieldProblem } from '../fields/field-problem.js';
import { readWorkload } from './read-workload.js';

const PORT = { name: 'http', port: 80 };

function problemsOf(spec: object, name = 'web'): string[] {
  const value = { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec };
  return readWorkload(value, 'Service', { toWritten: (pod) => pod }).problems.map(formatFieldProblem);
}

describe('a Service', () => {
  it.each<[string, object]>([
    ['with several ports that have names', { ports: [PORT, { name: 'https', port: 443 }] }],
    ['with one number for two protocols', { ports: [PORT, { ...PORT, name: 'udp', protocol: 'UDP' }] }],
    ['without ports and address', { clusterIP: 'None', selector: { app: 'db' } }],
    ['with an address of its own', { clusterIP: '10.96.0.20', ports: [PORT] }],
    ['that is another name', { type: 'ExternalName', externalName: 'db.example.org.' }],
    ['with ports of the node', { type: 'NodePort', ports: [{ ...PORT, nodePort: 30_080 }] }],
    ['with a load balancer', { type: 'LoadBalancer', ports: [{ ...PORT, nodePort: 32_767 }] }],
    ['whose targets have numbers and names', { ports: [{ ...PORT, targetPort: 'http' }] }],
  ])('%s is accepted', (_, spec) => {
    expect(problemsOf(spec)).toEqual([]);
  });

  it.each(['1web', 'Web', 'web.shop', 'w'.repeat(64), 'web-'])('cannot be called %s', (name) => {
    expect(problemsOf({ ports: [PORT] }, name).join()).toMatch(/^metadata\.name: Invalid value: /);
  });

  it.each<[object, string]>([
    [{}, 'spec.ports: Required value'],
    [{ type: 'ExternalName' }, 'spec.externalName: Required value'],
    [
      { type: 'ExternalName', externalName: 'db.example.org', clusterIP: '10.0.0.1' },
      'spec.clusterIP: Forbidden: may not be set for ExternalName services',
    ],
    [
      { type: 'NodePort', clusterIP: 'None', ports: [PORT] },
      `spec.clusterIP: Invalid value: "None": may not be set to 'None' for NodePort services`,
    ],
    [
      { clusterIP: '10.0.0', ports: [PORT] },
      'spec.clusterIP: Invalid value: "10.0.0": use an IPv4 address, None, or leave it out',
    ],
    [{ ports: [{ port: 80 }, { ...PORT, port: 81 }] }, 'spec.ports[0].name: Required value'],
    [{ ports: [PORT, { ...PORT, port: 81 }] }, 'spec.ports[1].name: Duplicate value: "http"'],
    [
      { ports: [PORT, { name: 'other', port: 80 }] },
      'spec.ports[1]: Duplicate value: {"protocol":"TCP","port":80}',
    ],
    [
      { ports: [{ ...PORT, nodePort: 30_000 }] },
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
    [
      { type: 'NodePort', ports: [{ ...PORT, nodePort: 8080 }] },
      'spec.ports[0].nodePort: Invalid value: 8080: provided port is not in the valid range, which is 30000-32767',
    ],
    [
      {
        type: 'NodePort',
        ports: [
          { ...PORT, nodePort: 30_080 },
          { name: 'other', port: 81, nodePort: 30_080 },
        ],
      },
      'spec.ports[1].nodePort: Duplicate value: 30080',
    ],
  ])('is refused as %j', (spec, words) => {
    expect(problemsOf(spec)).toEqual([words]);
  });

  it.each<[object, string]>([
    [{ ports: [{ ...PORT, port: 0 }] }, 'spec.ports[0].port'],
    [{ ports: [{ ...PORT, port: 65_536 }] }, 'spec.ports[0].port'],
    [{ ports: [{ ...PORT, targetPort: 65_536 }] }, 'spec.ports[0].targetPort'],
    [{ ports: [{ ...PORT, targetPort: 'no_name' }] }, 'spec.ports[0].targetPort'],
    [{ ports: [{ ...PORT, name: 'A' }] }, 'spec.ports[0].name'],
    [{ ports: [PORT], selector: { 'a b': 'x' } }, 'spec.selector[a b]'],
    [{ ports: [PORT], selector: { app: 'x y' } }, 'spec.selector[app]'],
    [{ type: 'ExternalName', externalName: 'no name' }, 'spec.externalName'],
  ])('says where it is wrong: %j', (spec, path) => {
    const found = problemsOf(spec);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`${path}: Invalid value: `);
  });
});
