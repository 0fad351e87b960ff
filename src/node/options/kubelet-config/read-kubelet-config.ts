import { decodeObject } from '#kube/fields/decode-object.js';
import { type FieldFacts, type FieldTable } from '#kube/fields/field-facts.js';
import { type FieldPath, formatFieldPath, toPlainPath } from '#kube/fields/field-path.js';
import { type FieldProblem, invalid } from '#kube/fields/field-problem.js';
import { ProblemList } from '#kube/validation/problem-list.js';
import { PodloopError } from '#base/errors/errors.js';
import { parseYamlDocuments, type TextPlace } from '#base/text/yaml/yaml-document.js';
import { type HonouredField } from './honoured-field.js';
import { CLUSTER_FIELDS, KUBELET_CONFIG_TABLES } from './kubelet-config-fields.js';
import { type KubeletConfig } from './kubelet-config.js';
import { formatGoDuration } from '#base/time/go-duration.js';

/** The content of a configuration file. */
export interface KubeletConfigReading {
  readonly config: KubeletConfig;
  /** One sentence for each field that is valid and without effect, with its place. */
  readonly warnings: readonly string[];
}

/** Larger than any real configuration. */
const LARGEST_CONFIG_BYTES = 256 * 1024;
/** Maximum number of problems that an error lists; it only counts the rest. */
const NAMED_PROBLEMS = 20;

/**
 * Reads the text of a KubeletConfiguration file. Paths in it are relative to the folder of `file`, as in a kubelet.
 * Throws CONFIG_INVALID with every problem, each with line, column and field. What only a node of a cluster honours has
 * no effect unless `isInCluster`.
 */
export function readKubeletConfig(text: string, file: string, isInCluster = false): KubeletConfigReading {
  if (Buffer.byteLength(text) > LARGEST_CONFIG_BYTES) {
    throw new PodloopError('CONFIG_INVALID', `${file}: has more than ${LARGEST_CONFIG_BYTES} bytes`);
  }
  const documents = parseYamlDocuments(text);
  const [document] = documents;
  if (document === undefined || documents.length > 1) {
    const why = document === undefined ? 'there is nothing in it' : 'there is more than one document in it';
    throw new PodloopError('CONFIG_INVALID', `${file}: ${why}; write one KubeletConfiguration`);
  }
  if (document.problems.length > 0) {
    throw invalidFile(document.problems.map(({ path, place, message }) => at(file, place, path, message)));
  }
  const placed = (path: FieldPath, message: string, of: 'key' | 'value'): string =>
    at(file, document.placeOf(toPlainPath(path), of), path, message);
  const decoded = decodeObject(document.value, 'KubeletConfiguration', KUBELET_CONFIG_TABLES, () => true);
  const list = new ProblemList();
  list.add(...decoded.problems.map(asDuration));
  const config: KubeletConfig = {};
  readFields((decoded.value ?? {}) as Written, 'KubeletConfiguration', { file, config, list });
  list.add(...checkKubeletConfigPairs(config));
  if (list.problems.length > 0) {
    throw invalidFile(
      list.problems.map(({ kind, path, message }) =>
        placed(path, message, kind === 'unknown' ? 'key' : 'value'),
      ),
    );
  }
  const idle = fieldsWithoutEffect(document.value as Written, 'KubeletConfiguration', isInCluster);
  return { config, warnings: idle.map(({ path, why }) => placed(path, `has no effect: ${why}`, 'key')) };
}

/** Quotes alone would not turn a number into a duration. */
function asDuration(problem: FieldProblem): FieldProblem {
  if (problem.kind !== 'type' || !DURATIONS.has(problem.path.at(-1))) return problem;
  const message = problem.message.replace(
    'must be a string,',
    'must be a duration such as 500ms, 20s or 1m30s,',
  );
  return { ...problem, message: message.replace('; put it in quotes', '') };
}

const DURATIONS: ReadonlySet<unknown> = new Set(
  Object.values<FieldTable>(KUBELET_CONFIG_TABLES).flatMap((table) =>
    Object.keys(table).filter((field) => 'isDuration' in table[field]!),
  ),
);

interface IdleField {
  readonly path: readonly string[];
  readonly why: string;
}

function fieldsWithoutEffect(
  value: Written,
  table: keyof typeof KUBELET_CONFIG_TABLES,
  isInCluster: boolean,
  above: readonly string[] = [],
): IdleField[] {
  const fields: [string, FieldFacts][] = Object.entries(KUBELET_CONFIG_TABLES[table]);
  return fields.flatMap(([field, { support, neutral, note, type }]): IdleField[] => {
    const written = value[field] ?? null;
    const path = [...above, field];
    if (written === null || neutral.includes(written as string)) return [];
    const whyNotHere = isInCluster ? undefined : CLUSTER_FIELDS[path.join('.')];
    const why = whyNotHere ?? (support === 'ignored' ? note : undefined);
    if (why !== undefined) return saysNothing(written) ? [] : [{ path, why }];
    if (type.kind !== 'object') return [];
    const inner = type.name as keyof typeof KUBELET_CONFIG_TABLES;
    return fieldsWithoutEffect(written as Written, inner, isInCluster, path);
  });
}

/** Generated files, such as kubeadm's, contain zeros and empty objects, which mean the default to a kubelet. */
function saysNothing(written: unknown): boolean {
  if (typeof written !== 'object' || written === null) return ZEROS.has(written);
  return Object.values(written).every((each) => saysNothing(each));
}

const ZEROS: ReadonlySet<unknown> = new Set([null, '', '0', '0s']);

type Written = Readonly<Record<string, unknown>>;

/** The values of what is written, by the rows of a table and of those below it, with what is wrong with them. */
function readFields(
  written: Written,
  table: keyof typeof KUBELET_CONFIG_TABLES,
  { file, config, list }: Reading,
  above: FieldPath = [],
): void {
  const fields: [string, FieldFacts | HonouredField<unknown, string>][] = Object.entries(
    KUBELET_CONFIG_TABLES[table],
  );
  for (const [field, facts] of fields) {
    const value = written[field];
    if (value === undefined) continue;
    const path = [...above, field];
    if (!('read' in facts)) {
      if (facts.type.kind === 'object' && facts.support === 'supported') {
        const inner = facts.type.name as keyof typeof KUBELET_CONFIG_TABLES;
        readFields(value as Written, inner, { file, config, list }, path);
      }
      continue;
    }
    const result = facts.read(value, file);
    if ('problem' in result) list.add(invalid(path, value, result.problem));
    else if (result.value !== undefined) {
      config[facts.key === '' ? field : facts.key] = result.value;
      facts.check?.(result.value, path, list);
    }
  }
}

interface Reading {
  readonly file: string;
  readonly config: Record<string, unknown>;
  readonly list: ProblemList;
}

function at(file: string, { line, column }: TextPlace, path: FieldPath, message: string): string {
  const field = formatFieldPath(path);
  return `${file}:${line}:${column}: ${field === '' ? '' : `${field}: `}${message}`;
}

function invalidFile(problems: readonly string[]): PodloopError {
  const named = problems.slice(0, NAMED_PROBLEMS);
  const more = problems.length - named.length;
  return new PodloopError(
    'CONFIG_INVALID',
    [...named, ...(more > 0 ? [`and ${more} more problems`] : [])].join('; '),
  );
}

/** Checks what depends on two fields, by the kubelet’s own rules. Pure. */
function checkKubeletConfigPairs(config: KubeletConfig): FieldProblem[] {
  const { imageGCHighThresholdPercent: high = 85, imageGCLowThresholdPercent: low = 80 } = config;
  const problems: FieldProblem[] = [];
  if (low >= high) {
    problems.push(
      invalid(['imageGCLowThresholdPercent'], low, `must be less than imageGCHighThresholdPercent, ${high}`),
    );
  }
  const { imageMinimumGCAgeMs: youngest = 120_000, imageMaximumGCAgeMs: oldest = 0 } = config;
  if (oldest > 0 && oldest <= youngest) {
    const rule = `must be more than imageMinimumGCAge, ${formatGoDuration(youngest)}`;
    problems.push(invalid(['imageMaximumGCAge'], formatGoDuration(oldest), rule));
  }
  const { maxParallelImagePulls: pulls, serializeImagePulls: oneByOne } = config;
  if (pulls !== undefined && pulls > 1 && oneByOne === true) {
    problems.push(invalid(['maxParallelImagePulls'], pulls, 'must be 1 while serializeImagePulls is true'));
  }
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist } =
    config;
  if (allowlist !== undefined && allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    const rule = 'imagePullCredentialsVerificationPolicy has to be NeverVerifyAllowlistedImages';
    problems.push(invalid(['preloadedImagesVerificationAllowlist'], allowlist, rule));
  }
  const { evictionSoft = {}, evictionSoftGracePeriod: graces = {} } = config;
  for (const [signal, text] of Object.entries(evictionSoft)) {
    if (Object.hasOwn(graces, signal)) continue;
    const rule = `evictionSoftGracePeriod has to say how long it may hold, such as {${signal}: 1m30s}`;
    problems.push(invalid(['evictionSoft', { key: signal }], text, rule));
  }
  const { shutdownGracePeriodMs: all = 0, shutdownGracePeriodCriticalPodsMs: critical = 0 } = config;
  if (critical > all) {
    const rule = `must not be more than shutdownGracePeriod, ${formatGoDuration(all)}`;
    const written = formatGoDuration(critical);
    problems.push(invalid(['shutdownGracePeriodCriticalPods'], written, rule));
  }
  const { shutdownGracePeriodByPodPriority: periods = [] } = config;
  if (periods.length > 0 && all > 0) {
    const rule = 'does not go with shutdownGracePeriod: leave one of them out';
    problems.push(invalid(['shutdownGracePeriodByPodPriority'], periods, rule));
  }
  return problems;
}
