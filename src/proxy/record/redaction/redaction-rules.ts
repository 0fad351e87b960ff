/** What is recorded although it may contain a secret. */
export interface RedactionRules {
  /** Names of annotations whose values are kept, `*` for any number of characters; behind {@link KEPT_ANNOTATIONS}. */
  readonly keepAnnotations: readonly string[];
  /** Commands and arguments of containers, probes and execs. */
  readonly keepCommands: boolean;
  /** What execs print, and what containers leave as their last message. */
  readonly keepOutput: boolean;
}

/** Keeps the least. */
export const STRICT_RULES: RedactionRules = { keepAnnotations: [], keepCommands: false, keepOutput: false };

/** Annotations that agents and runtimes put there for one another: a pod cannot be understood without. */
export const KEPT_ANNOTATIONS: readonly string[] = [
  'io.kubernetes.container.hash',
  'io.kubernetes.container.restartCount',
  'io.kubernetes.container.terminationMessagePath',
  'io.kubernetes.container.terminationMessagePolicy',
  'io.kubernetes.container.ports',
  'io.kubernetes.container.type',
  'io.kubernetes.pod.deletionGracePeriod',
  'io.kubernetes.pod.terminationGracePeriod',
  'io.kubernetes.cri.*',
  'io.container.manager',
  'kubernetes.io/config.hash',
  'kubernetes.io/config.seen',
  'kubernetes.io/config.source',
  'kubernetes.io/config.mirror',
  'podloop.dev/*',
];

/** Whether the value of an annotation is recorded, by its name. */
export function annotationFilter(patterns: readonly string[]): (name: string) => boolean {
  const expressions = [...KEPT_ANNOTATIONS, ...patterns].map(
    (pattern) => new RegExp(`^${pattern.split('*').map(escape).join('.*')}$`, 's'),
  );
  const known = new Map<string, boolean>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const isKept = expressions.some((expression) => expression.test(name));
    if (known.size < MAX_KNOWN_NAMES) known.set(name, isKept);
    return isKept;
  };
}

const MAX_KNOWN_NAMES = 1_000;

function escape(text: string): string {
  return text.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&');
}
