import { cri, type CriClient } from '../cri/index.js';
import { type RuntimeSample } from './pod-usage.js';

/** Fields of PodSandboxMetrics and ContainerMetrics, which share the first two. */
const ID_FIELD = 1;
const METRICS_FIELD = 2;
const CONTAINERS_FIELD = 3;
const LENGTH_DELIMITED = 2;
/** The first byte of a Metric whose name comes first, as when fields are written in order. */
const NAME_TAG = 0x0a;
/** The length of a shorter name takes one byte. */
const LONG_NAME = 128;

type Reading = Pick<CriClient, 'newReader'>;
type IsWanted = (subjectId: string, name: string) => boolean;

/**
 * The wanted samples of one PodSandboxMetrics of CRI, by the id of the sandbox or container and the metric's
 * name.
 *
 * Only the name of the others is read: a sample has half a dozen labels, and decoding them all costs more
 * than everything done with the few that are needed. Throws the decoder's error for bytes that are not a
 * message.
 */
export function readPodSamples(client: Reading, bytes: Buffer, isWanted: IsWanted): RuntimeSample[] {
  const { id, metrics, containers } = split(client, bytes);
  const samples = metrics.flatMap((metric) => readSample(client, metric, id, isWanted) ?? []);
  for (const container of containers) {
    const own = split(client, container);
    for (const metric of own.metrics) {
      const sample = readSample(client, metric, own.id, isWanted);
      if (sample !== undefined) samples.push(sample);
    }
  }
  return samples;
}

interface Parts {
  readonly id: string;
  readonly metrics: readonly Buffer[];
  readonly containers: readonly Buffer[];
}

function split(client: Reading, bytes: Buffer): Parts {
  const reader = client.newReader(bytes);
  const parts = { id: '', metrics: [] as Buffer[], containers: [] as Buffer[] };
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if ((wireType as number) !== LENGTH_DELIMITED || field > CONTAINERS_FIELD) {
      reader.skip(wireType, field);
      continue;
    }
    const { length } = reader.bytes();
    const value = bytes.subarray(reader.pos - length, reader.pos);
    if (field === ID_FIELD) parts.id = value.toString();
    else if (field === METRICS_FIELD) parts.metrics.push(value);
    else if (field === CONTAINERS_FIELD) parts.containers.push(value);
  }
  return parts;
}

function readSample(
  client: Reading,
  bytes: Buffer,
  subjectId: string,
  isWanted: IsWanted,
): RuntimeSample | undefined {
  const early = peekName(bytes);
  if (early !== undefined && !isWanted(subjectId, early)) return undefined;
  const { name, timestamp, metricType, labelValues, value } = cri.Metric.decode(client.newReader(bytes));
  if (early === undefined && !isWanted(subjectId, name)) return undefined;
  return {
    ...{ name, subjectId },
    type: metricType === cri.MetricType.COUNTER ? 'counter' : 'gauge',
    labelValues,
    value: Number(value?.value ?? 0n),
    atMs: Number(timestamp / 1_000_000n),
  };
}

/** The name if it is the first field, else undefined. */
function peekName(bytes: Buffer): string | undefined {
  const [tag, length = LONG_NAME] = bytes;
  if (tag !== NAME_TAG || length >= LONG_NAME || bytes.length < 2 + length) return undefined;
  return bytes.toString('latin1', 2, 2 + length);
}
