import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { recordResult } from '../integration/results-page.js';
import { askApiServer, buildApiServer, type ServerAnswer } from './api-server-program.js';
import { comparePod, type Comparison } from './compare-pods.js';
import { compareYaml } from './compare-yaml.js';
import { PLACE_DIFFERENCES } from './compare-paths.js';
import { sampleMutations } from './mutate-pod.js';
import { generateYaml } from './mutate-yaml.js';
import { SEED_PODS } from './seed-pods.js';

/** The version that `api-server/go.mod` names. */
export const KUBERNETES = 'v1.37.2';
const YAML_COUNT = 6000;
const SEED = 1;
const RECORDED = { pods: 350, yaml: 300 };
const ANSWERS = fileURLToPath(new URL('recorded-answers.json', import.meta.url));

/**
 * Reads `count` pods with one thing changed, and thousands of YAML texts, by podloop and by Kubernetes. Returns what differs for
 * no known reason. With PODLOOP_RESULTS the results page and the recorded sample are written.
 */
export async function runDifferential(count: number): Promise<string[]> {
  const program = await buildApiServer();
  const mutations = sampleMutations(SEED_PODS, count, SEED);
  const answers = await askApiServer(
    program,
    mutations.map(({ text }) => ({ kind: 'pod', text })),
  );
  const texts = generateYaml(YAML_COUNT, SEED);
  const yamlAnswers = await askApiServer(
    program,
    texts.map((text) => ({ kind: 'yaml', text })),
  );
  const pods = mutations.map((mutation, at) => ({
    ...{ ...mutation, answer: answers[at]! },
    found: comparePod(mutation.text, answers[at]!),
  }));
  const yaml = texts.map((text, at) => ({
    ...{ name: text, text, answer: yamlAnswers[at]! },
    found: compareYaml(text, yamlAnswers[at]!),
  }));
  await record(pods, yaml);
  await recordResult('differential', 'Beside the validation of Kubernetes', {
    name: `One thing changed in a pod, and YAML, beside Kubernetes ${KUBERNETES}`,
    what: 'The same texts are read by podloop and by Kubernetes: decoding, defaults, validation with the default gates, and the fields that the errors name.',
    values: { ...tally('pods', pods), ...tallyPlaces(pods), ...tally('YAML texts', yaml) },
  });
  return [...faultsOf(pods), ...faultsOf(yaml)];
}

interface Judged {
  readonly name: string;
  readonly text: string;
  readonly answer: ServerAnswer;
  readonly found: Comparison;
}

function faultsOf(judged: readonly Judged[]): string[] {
  return judged.flatMap(({ name, found }) =>
    found.kind === 'fault' ? [`${found.what}: ${JSON.stringify(name)}: ${found.why}`] : [],
  );
}

function tally(what: string, judged: readonly Judged[]): Record<string, number> {
  const count = (is: (found: Comparison) => boolean): number =>
    judged.filter(({ found }) => is(found)).length;
  return {
    [what]: judged.length,
    [`${what}: taken by both`]: count((found) => found.kind === 'same' && found.isValid),
    [`${what}: refused by both`]: count((found) => found.kind === 'same' && !found.isValid),
    [`${what}: refused here alone, for a known reason`]: count(({ kind }) => kind === 'deliberate'),
    [`${what}: taken here alone`]: count((found) => found.kind === 'fault' && found.what === 'laxer'),
    [`${what}: other, for no known reason`]: count(
      (found) => found.kind === 'fault' && found.what !== 'laxer',
    ),
  };
}

/** Where the errors are of pods that both refuse. */
function tallyPlaces(judged: readonly Judged[]): Record<string, number> {
  const places = judged.flatMap(({ found }) => (found.kind === 'same' ? (found.place ?? []) : []));
  const others = PLACE_DIFFERENCES.map(({ name }): [string, number] => [
    `errors: in another place, for a known reason: ${name}`,
    places.filter((place) => typeof place === 'object' && 'reason' in place && place.reason === name).length,
  ]);
  return {
    'errors: in a place that Kubernetes names': places.filter((place) => place === 'same').length,
    'errors: Kubernetes names no place': places.filter((place) => place === 'none there').length,
    ...Object.fromEntries(others),
  };
}

/** What is compared of an answer. */
function shortened({ problems, pod, json }: ServerAnswer): ServerAnswer {
  const short = problems.map(({ field, type, detail }) => ({ field, type, detail: detail.slice(0, 80) }));
  const { metadata, spec } = pod ?? {};
  return {
    problems: short,
    ...(pod === undefined ? {} : { pod: { apiVersion: 'v1', kind: 'Pod', metadata, spec } }),
    ...(json === undefined ? {} : { json }),
  };
}

/** A sample for tests without Go. */
async function record(pods: readonly Judged[], yaml: readonly Judged[]): Promise<void> {
  if (process.env['PODLOOP_RESULTS'] === undefined) return;
  const some = (judged: readonly Judged[], count: number): readonly Judged[] => {
    const step = Math.max(1, Math.floor(judged.length / count));
    return judged.filter((_, index) => index % step === 0).slice(0, count);
  };
  const lines = (items: readonly object[]): string =>
    `[\n${items.map((item) => `    ${JSON.stringify(item)}`).join(',\n')}\n  ]`;
  const podLines = lines(
    some(pods, RECORDED.pods).map(({ name, text, answer }) => ({ name, text, answer: shortened(answer) })),
  );
  const yamlLines = lines(
    some(yaml, RECORDED.yaml).map(({ text, answer }) => ({ text, answer: shortened(answer) })),
  );
  await writeFile(
    ANSWERS,
    `{\n  "kubernetes": "${KUBERNETES}",\n  "pods": ${podLines},\n  "yaml": ${yamlLines}\n}\n`,
  );
}
