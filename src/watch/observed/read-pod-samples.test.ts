import { expect, it } from 'vitest';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { cri, type CriClient } from '../cri/index.js';
import { readPodSamples } from './read-pod-samples.js';

const client = { newReader: (bytes: Buffer) => new BinaryReader(bytes) } as unknown as CriClient;

function metric(name: string): Buffer {
  const fields = { name, timestamp: 5_000_000n, metricType: cri.MetricType.COUNTER, labelValues: ['v'] };
  return Buffer.from(cri.Metric.encode(cri.Metric.fromPartial({ ...fields, value: { value: 7n } })).finish());
}

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

it('finds the id and the names wherever they are, as fields may come in any order', () => {
  const name = field(1, Buffer.from('m'));
  // The name after the labels, and the container's id after its metrics.
  const turned = Buffer.concat([field(4, Buffer.from('v')), name]);
  const container = Buffer.concat([field(2, turned), field(1, Buffer.from('c1'))]);
  const pod = Buffer.concat([field(3, container), field(2, metric('n')), field(1, Buffer.from('s1'))]);
  const asked: string[] = [];
  const samples = readPodSamples(client, pod, (id, asking) => asked.push(`${id} ${asking}`) > 0);
  expect(asked).toEqual(['s1 n', 'c1 m']);
  expect(samples).toMatchObject([
    { subjectId: 's1', name: 'n', type: 'counter', labelValues: ['v'], value: 7, atMs: 5 },
    { subjectId: 'c1', name: 'm', type: 'counter', labelValues: ['v'], value: 0, atMs: 0 },
  ]);
  expect(readPodSamples(client, pod, () => false)).toEqual([]);
});

it('decodes names of any length', () => {
  const name = `container_${'x'.repeat(300)}`;
  const long = metric(name);
  const head = Buffer.from([(2 << 3) | 2, (long.length & 0x7f) | 0x80, long.length >> 7]);
  const samples = readPodSamples(client, Buffer.concat([head, long]), (_id, asked) => asked === name);
  expect(samples.map((sample) => sample.name)).toEqual([name]);
});

it('throws for bytes that are not a message', () => {
  expect(() => readPodSamples(client, Buffer.from([10, 200]), () => true)).toThrow();
});
