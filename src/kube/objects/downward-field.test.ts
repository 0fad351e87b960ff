import { describe, expect, it } from 'vitest';
import { fieldValue } from './downward-field.js';
import { type NodePod } from '../pod/node-pod.js';

const POD: NodePod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    ...{ name: 'web-node1', namespace: 'shop', uid: 'u-1' },
    labels: { tier: 'front', app: 'web', 'example.org/x': "it's" },
    annotations: { note: 'one\ntwo\t"three" \\ é \u00ad\u0007\u007f\u2028 🎉', empty: '' },
  },
  spec: { containers: [], nodeName: 'node1' },
};
const FACTS = {
  podIps: ['10.88.0.5', 'fd00::5'],
  hostIps: ['192.0.2.7', '2001:db8::7'],
  nodeName: 'node1',
  serviceAccountName: 'default',
};
const get = (fieldPath: string, facts = FACTS): string => fieldValue(POD, fieldPath, facts);

describe('a field of a pod', () => {
  it.each([
    ['metadata.name', 'web-node1'],
    ['metadata.namespace', 'shop'],
    ['metadata.uid', 'u-1'],
    ["metadata.labels['app']", 'web'],
    ["metadata.labels['example.org/x']", "it's"],
    ["metadata.labels['none']", ''],
    ["metadata.labels['constructor']", ''],
    ["metadata.annotations['empty']", ''],
    ['spec.nodeName', 'node1'],
    ['spec.serviceAccountName', 'default'],
    ['status.hostIP', '192.0.2.7'],
    ['status.hostIPs', '192.0.2.7,2001:db8::7'],
    ['status.podIP', '10.88.0.5'],
    ['status.podIPs', '10.88.0.5,fd00::5'],
  ])('%s is %j', (fieldPath, value) => {
    expect(get(fieldPath)).toBe(value);
  });

  it('of all labels is one line each, sorted, without a line end after the last', () => {
    expect(get('metadata.labels')).toBe('app="web"\nexample.org/x="it\'s"\ntier="front"');
  });

  it('of all annotations is quoted like in Go', () => {
    const note = '"one\\ntwo\\t\\"three\\" \\\\ é \\u00ad\\a\\x7f\\u2028 🎉"';
    expect(get('metadata.annotations')).toBe(`empty=""\nnote=${note}`);
  });

  it('of a pod without labels is empty', () => {
    const pod = { ...POD, metadata: { name: 'a', namespace: 'b', uid: 'c' } };
    expect(fieldValue(pod, 'metadata.labels', FACTS)).toBe('');
    expect(fieldValue(pod, "metadata.annotations['x']", FACTS)).toBe('');
  });

  it('that is not known yet is empty, and one that does not exist throws', () => {
    expect(get('status.podIP', { ...FACTS, podIps: [] })).toBe('');
    expect(get('status.podIPs', { ...FACTS, podIps: [] })).toBe('');
    expect(() => get('spec.hostname')).toThrow('unsupported fieldPath: spec.hostname');
  });
});

it('an unprintable character that does not fit into two bytes is escaped with eight digits', () => {
  const pod = { ...POD, metadata: { ...POD.metadata, labels: { a: '\u{e0001}\ud800' } } };
  expect(fieldValue(pod, 'metadata.labels', FACTS)).toBe('a="\\U000e0001\ufffd"');
});
