import { describe, expect, it } from 'vitest';
import { POD_TABLES } from '#kube/pod/pod-fields.js';
import { explain, listKinds } from './explain.js';

const EVERY = [
  ...['pod', 'deployment', 'replicaset', 'statefulset', 'daemonset', 'job', 'cronjob', 'rc', 'pvc'],
  ...['configmap', 'secret'],
];

describe('podloop explain', () => {
  it('lists the kinds that it knows', () => {
    const [head, ...kinds] = listKinds();
    expect(head).toMatch(/^NAME +SHORTNAMES +APIVERSION +KIND$/);
    expect(kinds.find((line) => line.startsWith('deployments'))).toMatch(/ deploy +apps\/v1 +Deployment$/);
    for (const line of kinds) expect(explain(line.split(' ')[0]!, false).length).toBeGreaterThan(4);
    expect(kinds.join()).not.toContain('nodes');
  });

  it('shows a kind with its fields', () => {
    expect(explain('deploy', false).slice(0, 7)).toEqual([
      ...['GROUP:      apps', 'KIND:       Deployment', 'VERSION:    v1', '', 'DESCRIPTION:'],
      ...['    Keeps a number of equal pods and replaces them one by one after an edit.', ''],
    ]);
    expect(explain('pods', false).slice(0, 2)).toEqual(['KIND:       Pod', 'VERSION:    v1']);
  });

  it('shows a field with its type, its values and what is below', () => {
    expect(explain('pod.spec.restartPolicy', false).join('\n')).toBe(
      [
        ...['KIND:       Pod', 'VERSION:    v1', '', 'FIELD: restartPolicy <string>', '', 'DESCRIPTION:'],
        ...['    When containers that end are started again.', '    Values: Always, OnFailure, Never', ''],
      ].join('\n'),
    );
    const lines = explain('pod.spec.containers', false);
    expect(lines).toContain('FIELD: containers <[]Container>');
    expect(lines.filter((line) => line.startsWith('  name\t'))).toEqual(['  name\t<string> -required-']);
  });

  it.each(
    listKinds()
      .slice(1)
      .map((line) => line.split(' ')[0]!),
  )('says what a %s is for', (kind) => {
    const lines = explain(kind, false);
    expect(lines[lines.indexOf('DESCRIPTION:') + 1]).toMatch(/^ {4}[A-Z].*\.$/);
  });

  it.each(['cronjob', 'job', 'deployment', 'statefulset', 'daemonset', 'service', 'pvc'])(
    'says what every field of the spec of a %s is for, or why it has no effect',
    (kind) => {
      const lines = explain(`${kind}.spec`, false);
      const bare = lines.filter(
        (line, at) => /^ {2}\w+\t/.test(line) && !lines[at + 1]?.startsWith('      '),
      );
      expect([lines.includes('DESCRIPTION:'), bare]).toEqual([true, []]);
    },
  );

  it('finds the fields of a pod in a template', () => {
    expect(explain('cronjob.spec.jobTemplate.spec.template.spec.containers.image', false)).toContain(
      'FIELD: image <string>',
    );
  });

  it('says what is refused, and what to do instead', () => {
    expect(explain('pod.metadata.generateName', false).join('\n')).toMatch(/Refused: use name/);
  });

  it.each(EVERY)('lists every field of a %s', (kind) => {
    const lines = explain(kind, true);
    expect(lines.length).toBeGreaterThan(
      kind === 'configmap' || kind === 'secret' || kind === 'pvc' ? 8 : 100,
    );
    expect(explain(kind, false).length).toBeGreaterThan(4);
  });

  it('leaves out no field of a container', () => {
    const lines = explain('pod.spec.containers', false).filter((line) => /^ {2}\w+\t/.test(line));
    expect(lines.map((line) => line.trim().split('\t')[0])).toEqual(
      Object.keys(POD_TABLES['Container']!).sort(),
    );
  });

  it.each([
    [
      'pod.spec.container',
      /^error: field "container" does not exist in pod\.spec: did you mean containers\? There are .*containers/,
    ],
    ['pod.spec.image', /^error: field "image" does not exist in pod\.spec: there are .*containers/],
    ['pod.spec.hostNetwork.a', /it has no fields/],
    ['nodes', /manifests have no Nodes/],
    ['pds', /doesn't have a resource type "pds"/],
  ])('does not know %s', (path, words) => {
    expect(() => explain(path, false)).toThrow(words);
  });
});
