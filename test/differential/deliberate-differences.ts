import { type ManifestProblem } from '../../src/node/desired/manifests/manifest-problem.js';

/** A class of pods that Kubernetes takes and podloop refuses, and why. */
export interface Difference {
  readonly name: string;
  readonly reason: string;
  readonly isIt: (problem: Pick<ManifestProblem, 'kind' | 'path' | 'message'>) => boolean;
}

/** All of them, each of them stricter than Kubernetes. */
export const DIFFERENCES: readonly Difference[] = [
  {
    name: 'not supported',
    reason: 'the field, or this value of it, asks for what podloop does not do: see the table of all fields',
    isIt: ({ kind }) => kind === 'refused',
  },
  {
    name: 'names that nothing has',
    reason: 'no ConfigMap or Secret can have the name or key, so that the pod would wait for ever',
    isIt: ({ path, kind }) =>
      kind === 'invalid' &&
      (/^spec\.volumes\[\d+\]\..*(?:configMap|secret)(?:\.items\[\d+\]\.key|\.name|\.secretName)$/.test(
        path,
      ) ||
        /\.envFrom\[\d+\]\.(?:configMapRef|secretRef)\.name$/.test(path)),
  },
  {
    name: 'host IP',
    reason: 'hostIP of a port that is no address: the port could not be opened',
    isIt: ({ path }) => /\.ports\[\d+\]\.hostIP$/.test(path),
  },
  {
    name: 'NUL character',
    reason: 'the system takes none in paths, arguments and variables: the container could not start',
    isIt: ({ message }) => message.endsWith('must not contain a NUL character'),
  },
  {
    name: 'null in a list',
    reason: 'an item that is null: Kubernetes makes an empty one of it, which nobody means',
    isIt: ({ kind, path, message }) => kind === 'type' && path.endsWith(']') && message.includes('not null'),
  },
  {
    name: 'space in an option of resolv.conf',
    reason: 'it would be two options',
    isIt: ({ path }) => path.startsWith('spec.dnsConfig.options['),
  },
  {
    name: 'lines in a header',
    reason: 'the value of a header of a probe is one line of the request',
    isIt: ({ path }) => /\.httpHeaders\[\d+\]\.value$/.test(path),
  },
  {
    name: 'medium of an emptyDir',
    reason: 'a medium that there is not: Kubernetes takes the disk for it',
    isIt: ({ path }) => path.endsWith('.emptyDir.medium'),
  },
  {
    name: 'uid',
    reason: 'folders and control groups are named after it',
    isIt: ({ path }) => path === 'metadata.uid',
  },
  {
    name: 'priority beside its class',
    reason: 'what Kubernetes refuses in an admission plugin, which validation does not know of',
    isIt: ({ path }) => path === 'spec.priority',
  },
  {
    name: 'stop signal',
    reason: 'honoured here, and behind a feature gate in Kubernetes that is off and drops the field',
    isIt: ({ path }) => path.endsWith('.lifecycle.stopSignal'),
  },
  {
    name: 'projection of nothing',
    reason: 'a source of a projected volume without any content',
    isIt: ({ path, kind }) => kind === 'required' && /\.projected\.sources\[\d+\]$/.test(path),
  },
  {
    name: 'negative grace period',
    reason: 'Kubernetes makes one second of it',
    isIt: ({ path, kind }) => path === 'spec.terminationGracePeriodSeconds' && kind === 'invalid',
  },
  {
    name: 'sleep without seconds',
    reason: 'Kubernetes sleeps for 0 seconds, which nobody means',
    isIt: ({ path, kind }) => path.endsWith('.sleep.seconds') && kind === 'required',
  },
  {
    name: 'sysctl twice',
    reason: 'one name with dots and with slashes is one sysctl',
    isIt: ({ path, kind }) => /\.sysctls\[\d+\]\.name$/.test(path) && kind === 'duplicate',
  },
  {
    name: 'sysctl without a value',
    reason: 'there is nothing to set it to',
    isIt: ({ path }) => /\.sysctls\[\d+\]\.value$/.test(path),
  },
  {
    name: 'seccomp profile without a name',
    reason: 'there is no such file',
    isIt: ({ path }) => path.endsWith('.seccompProfile.localhostProfile'),
  },
  {
    name: 'quantities written oddly',
    reason:
      'a plus or zeros in front, no digit, and empty text, which Kubernetes takes in some fields and not in others',
    isIt: ({ kind, message }) => kind === 'type' && message.startsWith('must be a quantity'),
  },
  {
    name: 'huge pages beyond counting',
    reason: 'an amount that no integer of 64 bits holds, or a part of a byte',
    isIt: ({ path }) => path.includes('[hugepages-'),
  },
  {
    name: 'integers beyond 2^53',
    reason: 'JavaScript does not tell them apart',
    isIt: ({ message }) => message.includes('larger ones, which Kubernetes takes, are not supported'),
  },
  {
    name: 'line ends and control characters',
    reason: 'line ends of Unicode (U+0085, U+2028, U+2029) and control characters',
    isIt: ({ kind, message }) =>
      kind === 'syntax' && /ends a line for some readers|^control characters are not allowed$/.test(message),
  },
  {
    name: 'long names',
    reason: 'the name of the pod with that of the node behind it must fit into a file name',
    isIt: ({ path, message }) => path === 'metadata.name' && message.includes('of the node'),
  },
];

/** The class of a problem, if it is deliberate. */
export function findDifference(
  problem: Pick<ManifestProblem, 'kind' | 'path' | 'message'>,
): Difference | undefined {
  return DIFFERENCES.find(({ isIt }) => isIt(problem));
}

/** A class of texts that Kubernetes reads as YAML and podloop refuses, and why. */
export interface YamlDifference {
  readonly name: string;
  readonly reason: string;
  readonly isIt: (message: string, text: string) => boolean;
}

/** All of them. */
export const YAML_DIFFERENCES: readonly YamlDifference[] = [
  {
    name: 'key twice',
    reason: 'a key that stands twice in a mapping: the second silently wins in Kubernetes',
    isIt: (message) => message.endsWith('stands here twice'),
  },
  {
    name: 'key of another type',
    reason: 'a key that means true, false, null or a number with a fraction',
    isIt: (message) => /^the key .* means .*; put it in quotes$/.test(message),
  },
  {
    name: 'line ends and control characters',
    reason: 'line ends of Unicode (U+0085, U+2028, U+2029) and control characters',
    isIt: (message) => /ends a line for some readers|^control characters are not allowed$/.test(message),
  },
  {
    name: 'grammar',
    reason: 'texts that break the grammar of YAML 1.2, which is narrower in rare places',
    isIt: (message) =>
      /^(?:Unexpected |a value is on this line already|Block collections|Implicit |Flow |Missing |Tabs |Plain value|All mapping|Map keys|Tags and anchors)/.test(
        message,
      ),
  },
  {
    name: 'read in different ways',
    reason:
      'what YAML 1.1 and 1.2 read differently: a question mark, or a colon before a comma or bracket, in a flow collection; an empty line behind a line that ends with a backslash',
    isIt: (message) => message.startsWith('parsers of YAML read this in different ways'),
  },
  {
    name: 'merge key',
    reason:
      '`<<` behind a key that is in what it merges, too, and a key that is in two `<<`: the later one wins in Kubernetes, in YAML the key beside `<<` and the first `<<`',
    isIt: (message) => /^<< would replace the key |^the key .* is in two <<; /.test(message),
  },
  {
    name: 'encoding',
    reason: 'text that is not UTF-8',
    isIt: (message) => /^is (?:not UTF-8|UTF-16) text/.test(message),
  },
  {
    name: 'tag',
    reason: 'tags, but for those of text, mappings and lists',
    isIt: (message) => /^the tag .* is not allowed$/.test(message),
  },
];

/** The class of a problem, if it is deliberate. */
export function findYamlDifference(message: string, text: string): YamlDifference | undefined {
  return YAML_DIFFERENCES.find(({ isIt }) => isIt(message, text));
}
