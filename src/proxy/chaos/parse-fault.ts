import { GRPC_STATUS_NAMES } from '../relay/index.js';
import { type YamlValue } from '#base/text/yaml/yaml-value.js';
import { readDuration } from './chaos-duration.js';
import { type Fault, type FaultPlace, type FaultType, RUNTIME_CONDITIONS } from './chaos-rule.js';

/** How each type is read; the key is the value of `type`. */
const READERS: Readonly<Record<FaultType, (value: YamlValue) => Fault>> = {
  delay: (value) => {
    const fields = value.fields('type', 'for', 'jitter', 'at');
    return {
      type: 'delay',
      forMs: readDuration(fields.for, 0),
      jitterMs: fields.jitter.isAbsent ? 0 : readDuration(fields.jitter, 0),
      at: readPlace(fields.at),
    };
  },
  error: (value) => {
    const fields = value.fields('type', 'code', 'message', 'at');
    return {
      type: 'error',
      code: readErrorCode(fields.code),
      message: fields.message.string('injected by podloop chaos'),
      at: readPlace(fields.at),
    };
  },
  hang: (value) => ({ type: 'hang', at: readPlace(value.fields('type', 'at').at) }),
  reset: (value) => {
    value.fields('type');
    return { type: 'reset' };
  },
  outage: (value) => {
    value.fields('type');
    return { type: 'outage' };
  },
  'truncate-list': (value) => ({
    type: 'truncate-list',
    keep: readCount(value.fields('type', 'keep').keep, 0, 0),
  }),
  'stale-list': (value) => ({
    type: 'stale-list',
    behind: readCount(value.fields('type', 'behind').behind, 1, 1, MAX_BEHIND),
  }),
  'grow-list': (value) => {
    const { toMiB } = value.fields('type', 'toMiB');
    const mebibytes = toMiB.number();
    if (!(mebibytes > 0 && mebibytes <= MAX_MEBIBYTES)) {
      throw toMiB.invalid(`must be more than 0 and at most ${MAX_MEBIBYTES}`);
    }
    return { type: 'grow-list', toBytes: Math.round(mebibytes * 2 ** 20) };
  },
  'not-ready': (value) => {
    const fields = value.fields('type', 'condition', 'message');
    return {
      type: 'not-ready',
      condition: fields.condition.oneOf(RUNTIME_CONDITIONS, 'NetworkReady'),
      message: fields.message.string('injected by podloop chaos'),
    };
  },
  'drop-events': (value) => {
    value.fields('type');
    return { type: 'drop-events' };
  },
  'duplicate-events': (value) => ({
    type: 'duplicate-events',
    copies: readCount(value.fields('type', 'copies').copies, 1, 1, MAX_COPIES),
  }),
  'delay-events': (value) => {
    const fields = value.fields('type', 'for', 'jitter');
    return {
      type: 'delay-events',
      forMs: readDuration(fields.for, 0),
      jitterMs: fields.jitter.isAbsent ? 0 : readDuration(fields.jitter, 0),
    };
  },
  'reorder-events': (value) => {
    const fields = value.fields('type', 'among', 'wait');
    return {
      type: 'reorder-events',
      among: readCount(fields.among, 2, 5, MAX_AMONG),
      waitMs: fields.wait.isAbsent ? 1_000 : readDuration(fields.wait, 1),
    };
  },
  'end-stream': (value) => {
    const fields = value.fields('type', 'code', 'openFor');
    return {
      type: 'end-stream',
      code: readCode(fields.code, 'OK'),
      openForMs: fields.openFor.isAbsent ? undefined : readDuration(fields.openFor, 0),
    };
  },
};

const MAX_BEHIND = 100;
const MAX_COPIES = 1_000;
const MAX_AMONG = 1_000;
/** What the relay holds of one message. */
const MAX_MEBIBYTES = 255;

/** Every type of fault, as a rules file names it. */
export const FAULT_TYPES = Object.keys(READERS) as FaultType[];

/** Reads `fault:` of a rule. Throws RULES_INVALID. */
export function parseFault(value: YamlValue): Fault {
  return READERS[value.find('type').oneOf(FAULT_TYPES)](value);
}

function readPlace(field: YamlValue): FaultPlace {
  return field.oneOf(['request', 'answer'], 'request');
}

function readCode(field: YamlValue, fallback: (typeof GRPC_STATUS_NAMES)[number]): number {
  return GRPC_STATUS_NAMES.indexOf(field.oneOf(GRPC_STATUS_NAMES, fallback));
}

function readErrorCode(field: YamlValue): number {
  const code = readCode(field, 'UNAVAILABLE');
  if (code === 0) throw field.invalid('must be the code of an error, not OK');
  return code;
}

function readCount(
  field: YamlValue,
  least: number,
  fallback: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  const count = field.integer(fallback);
  if (count >= least && count <= most) return count;
  throw field.invalid(
    most === Number.MAX_SAFE_INTEGER ? `must be at least ${least}` : `must be ${least} to ${most}`,
  );
}
