import { describe, expect, it } from 'vitest';
import { readManifests } from './manifest-reader.js';

const HINT = 'a Compose file is no manifest; write a Pod for its services, kompose convert helps with that';
const problemsOf = (text: string): string[] =>
  readManifests(text, { file: 'f' }).problems.map(({ message }) => message);

describe('a Compose file', () => {
  it.each([
    'services:\n  web:\n    image: nginx\n    ports: ["80:80"]\n',
    'version: "3.8"\nservices: {web: {build: .}}\nvolumes: {data: }\nnetworks: {front: {}}\n',
    'name: shop\nx-common: &common {restart: always}\nservices: {web: {<<: *common, image: a}}\n',
    'services: {}\n',
    '{"services": {"db": {"image": "postgres"}}}',
  ])('is called one, in one line: %j', (text) => {
    expect(problemsOf(text)).toEqual([HINT]);
  });

  it('beside a Pod keeps nobody from running that', () => {
    const pod = '{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}';
    const { pods, problems } = readManifests(`services: {web: {image: a}}\n---\n${pod}\n`, { file: 'f' });
    expect([pods.length, problems.map(({ message }) => message)]).toEqual([1, [HINT]]);
  });

  it.each([
    'services: [a]\n',
    'services: web\n',
    'apiVersion: v1\nkind: Pod\nservices: {}\n',
    'metadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\nservices: {}\n',
  ])('is something else: %j', (text) => {
    expect(problemsOf(text)).not.toContain(HINT);
    expect(problemsOf(text)).not.toEqual([]);
  });
});

describe('a file that other programs read', () => {
  const kustomize = 'render it first: kubectl kustomize DIR | podloop validate -, or > pods.yaml';
  it.each([
    ['resources: [a.yaml]\n', `a kustomization is no manifest; ${kustomize}`],
    ['namespace: shop\nconfigMapGenerator:\n- name: a\n', `a kustomization is no manifest; ${kustomize}`],
    ['apiVersion: kustomize.config.k8s.io/v1beta1\n', `a kustomization is no manifest; ${kustomize}`],
    [
      'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n',
      `Kustomization is not supported; ${kustomize}`,
    ],
    [
      'apiVersion: v2\nname: web\nversion: 0.1.0\n',
      'a Helm chart is no manifest; render it first: helm template DIR | podloop validate -, or > pods.yaml',
    ],
  ])('is called what it is, with what makes manifests of it: %j', (text, message) => {
    expect(problemsOf(text)).toEqual([message]);
  });

  it.each(['resources: {limits: {}}\n', 'apiVersion: v1\nmetadata: {name: a}\nspec: {}\nresources: [a]\n'])(
    'is none: %j',
    (text) => expect(problemsOf(text).join()).not.toMatch(/kustom|Helm/),
  );
});

it.each([
  '{apiVersion: v1, kind: Pod, metadata: {generateName: a-}, spec: {containers: [{name: c, image: i}]}}',
  '{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}',
  '{apiVersion: batch/v1, kind: CronJob, metadata: {generateName: a-}, spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}',
])('a name that is to be generated is one problem: %s', (text) => {
  expect(problemsOf(text)).toEqual([expect.stringMatching(/use name: .*podloop create -f makes a name/)]);
});
