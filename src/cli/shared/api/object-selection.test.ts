import { describe, expect, it } from 'vitest';
import { CommandFailure } from '../../command-failure.js';
import { readPodName, readSelection } from './object-selection.js';

function complaintOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof CommandFailure) return error.lines;
    throw error;
  }
  return [];
}

const select = (...words: string[]) =>
  readSelection(words, { hasSelector: false, allNamespaces: false }, 'describe');
const KINDS =
  'There are configmaps, cronjobs, daemonsets, deployments, endpoints, endpointslices, events, jobs, nodes, persistentvolumeclaims, pods, replicasets, replicationcontrollers, secrets, services and statefulsets.';

describe('a word that is no kind of object', () => {
  it.each(['pds', 'web', 'things'])('%s alone is named, with the kinds that there are', (word) => {
    expect(complaintOf(() => select(word))).toEqual([
      `error: the server doesn't have a resource type "${word}"`,
      KINDS,
      `For a pod of that name: podloop describe pod ${word}`,
    ]);
  });

  it.each([
    ['ns', 'A namespace is there as soon as something is in it: podloop get all -A'],
    ['Ingresses', 'A Service with a nodePort is reached from outside; a proxy is a pod with a hostPort'],
    ['pv', 'Claims have folders of this node: podloop volumes, podloop get pvc'],
    ['clusterroles', 'They give rights at an API server, and there is none'],
    ['hpa', 'podloop scale sets how many pods a workload has'],
  ])('of a cluster alone, %s, is named with what is there instead', (word, instead) => {
    const lines = [`error: the server doesn't have a resource type "${word}"`, instead];
    expect(complaintOf(() => select(word))).toEqual(lines);
    expect(complaintOf(() => select(`${word}/x`))).toEqual(lines);
  });

  it.each([
    ['beside names', () => select('pds', 'web')],
    ['beside another', () => select('pods,pds')],
  ])('%s is named, with the kinds that there are', (_where, read) => {
    expect(complaintOf(read)).toEqual([`error: the server doesn't have a resource type "pds"`, KINDS]);
  });

  it.each([
    ['of a single pod', () => readPodName('other/web', 'no pod')],
    ['of objects', () => select('other/web')],
  ])('in front of the name %s may be a namespace', (_of, read) => {
    expect(complaintOf(read)).toEqual([
      `error: the server doesn't have a resource type "other"`,
      KINDS,
      'If other is a namespace: -n other, and web alone',
    ]);
  });
});

it.each(['pods', 'Pod', 'po', 'cm', 'pods.v1.', 'all', 'pods,cm', 'pod/web'])('%s is understood', (word) => {
  expect(complaintOf(() => select(word))).toEqual([]);
});
