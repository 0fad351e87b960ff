import { PROGRAM_IMAGE } from '../program-image.js';
import { HOST_IMAGE } from '../embedded-node.js';

/**
 * What the program of a container does: `on` and `graceful` run until they are stopped, the second one ends as soon as it
 * is told to; `once` ends well, `fails` does not, `retries` fails the first time; `crashes` always fails; `doomed` is
 * ended with its pod.
 */
export type ProgramKind = 'on' | 'graceful' | 'once' | 'fails' | 'retries' | 'crashes' | 'doomed';

/** One container of a kind of pods. */
export interface ChurnPart {
  readonly name: string;
  readonly runs: ProgramKind;
  readonly role?: 'init' | 'sidecar';
  /** It has probes that it passes, or one that it would not pass and that is not due yet. */
  readonly probes?: 'passed' | 'later';
}

interface ChurnKindFacts {
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  readonly parts: readonly ChurnPart[];
  /** Its commands may be edited while it runs, which makes the whole pod anew. */
  readonly editable: boolean;
  readonly activeDeadlineSeconds?: number;
}

/** The kinds of pods that a churn is made of. */
export const CHURN_KINDS = {
  web: {
    restartPolicy: 'Always',
    parts: [
      { name: 'front', runs: 'on', probes: 'passed' },
      { name: 'back', runs: 'graceful' },
    ],
    editable: true,
  },
  chain: {
    restartPolicy: 'Always',
    parts: [
      { name: 'first', runs: 'once', role: 'init' },
      { name: 'proxy', runs: 'on', role: 'sidecar' },
      { name: 'second', runs: 'once', role: 'init' },
      { name: 'main', runs: 'on' },
    ],
    editable: true,
  },
  crash: {
    restartPolicy: 'Always',
    parts: [
      { name: 'crasher', runs: 'crashes' },
      { name: 'neighbour', runs: 'on', probes: 'passed' },
    ],
    editable: false,
  },
  job: {
    restartPolicy: 'Never',
    parts: [
      { name: 'quick', runs: 'once' },
      { name: 'failing', runs: 'fails' },
    ],
    editable: false,
  },
  retry: { restartPolicy: 'OnFailure', parts: [{ name: 'again', runs: 'retries' }], editable: false },
  patient: {
    restartPolicy: 'Always',
    parts: [{ name: 'waiting', runs: 'on', probes: 'later' }],
    editable: false,
    activeDeadlineSeconds: 3_000,
  },
  doomed: {
    restartPolicy: 'Always',
    parts: [{ name: 'brief', runs: 'doomed' }],
    editable: false,
    activeDeadlineSeconds: 4,
  },
} as const satisfies Record<string, ChurnKindFacts>;

export type ChurnKind = keyof typeof CHURN_KINDS;

/** A pod of a churn as its manifest is to say. */
export interface ChurnPod {
  readonly name: string;
  readonly kind: ChurnKind;
  /** By container: what an edit raises, of all of them. */
  readonly generations: Readonly<Record<string, number>>;
  /** A label, whose change restarts nothing. */
  readonly note: number;
}

/** Where containers write down that they run. */
export interface ChurnPlace {
  readonly marks: string;
  /** Whether pods have an image and mounts of their own. */
  readonly isApart: boolean;
}

/** The first one of its name. */
export function newChurnPod(name: string, kind: ChurnKind, generation = 0): ChurnPod {
  const generations = Object.fromEntries(partsOf(kind).map((part) => [part.name, generation]));
  return { name, kind, generations, note: 0 };
}

/** The containers of a kind. */
export function partsOf(kind: ChurnKind): readonly ChurnPart[] {
  return CHURN_KINDS[kind].parts;
}

/** The file to which a container adds a line when its program begins. */
export function markOf({ name, generations }: ChurnPod, part: ChurnPart): string {
  return `${name}.${part.name}.${generations[part.name] ?? 0}`;
}

/** The manifest, as JSON. */
export function churnManifest(pod: ChurnPod, { marks, isApart }: ChurnPlace): string {
  const { restartPolicy, activeDeadlineSeconds }: ChurnKindFacts = CHURN_KINDS[pod.kind];
  const inside = isApart ? '/marks' : marks;
  const toContainer = (part: ChurnPart): object => ({
    name: part.name,
    image: isApart ? PROGRAM_IMAGE : HOST_IMAGE,
    imagePullPolicy: 'IfNotPresent',
    command: ['sh', '-c', programOf(part.runs, `${inside}/${markOf(pod, part)}`)],
    ...(part.role === 'sidecar' ? { restartPolicy: 'Always' } : {}),
    ...(part.probes === undefined ? {} : PROBES[part.probes]),
    ...(isApart ? { volumeMounts: [{ name: 'marks', mountPath: '/marks' }] } : {}),
  });
  const parts = partsOf(pod.kind);
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod.name, labels: { note: String(pod.note) } },
    spec: {
      ...{ restartPolicy, activeDeadlineSeconds },
      terminationGracePeriodSeconds: 1,
      initContainers: parts.filter(({ role }) => role !== undefined).map(toContainer),
      containers: parts.filter(({ role }) => role === undefined).map(toContainer),
      ...(isApart ? { volumes: [{ name: 'marks', hostPath: { path: marks, type: 'Directory' } }] } : {}),
    },
  });
}

/** Never too slow for them, however busy the machine is. */
const PROBE = { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 60 };
const PROBES = {
  passed: { startupProbe: PROBE, livenessProbe: PROBE, readinessProbe: PROBE },
  later: {
    livenessProbe: {
      ...{ ...PROBE, exec: { command: ['false'] } },
      ...{ initialDelaySeconds: 3_000, failureThreshold: 1 },
    },
  },
};

function programOf(kind: ProgramKind, mark: string): string {
  const begin = `echo run >> ${mark}`;
  switch (kind) {
    case 'on':
    case 'doomed':
      return `${begin}; exec sleep 100000`;
    case 'graceful':
      return `trap 'exit 0' TERM; ${begin}; sleep 100000 & wait $!`;
    case 'once':
      return `${begin}; sleep 0.5`;
    case 'fails':
      return `${begin}; sleep 1; exit 3`;
    case 'retries':
      return `${begin}; sleep 0.3; test "$(grep -c run ${mark})" -ge 2`;
    case 'crashes':
      return `${begin}; sleep 0.3; exit 1`;
  }
}
