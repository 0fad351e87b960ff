import { describe, expect, it } from 'vitest';
import { mergePatch } from './merge-patch.js';
import { strategicMergePatch } from './strategic-merge-patch.js';

const POD = {
  metadata: { name: 'web', labels: { app: 'web', tier: 'front' } },
  spec: {
    containers: [
      { name: 'a', image: 'a:1', command: ['run', 'it'], env: [{ name: 'X', value: '1' }] },
      { name: 'b', image: 'b:1' },
    ],
    volumes: [{ name: 'data', hostPath: { path: '/data' } }],
  },
};
const [A, B] = POD.spec.containers;

describe('a merge patch', () => {
  it('replaces what it names, lists whole, and takes away what it says is null', () => {
    const patch = { metadata: { labels: { tier: null, new: 'x' } }, spec: { containers: [{ name: 'c' }] } };
    expect(mergePatch(POD, patch)).toEqual({
      metadata: { name: 'web', labels: { app: 'web', new: 'x' } },
      spec: { ...POD.spec, containers: [{ name: 'c' }] },
    });
    expect(mergePatch({ a: [1] }, { a: { b: { c: null, d: 1 } } })).toEqual({ a: { b: { d: 1 } } });
  });

  it('may name any field, and changes nothing but the object', () => {
    const patch = JSON.parse('{"__proto__": {"polluted": true}}') as Record<string, unknown>;
    for (const apply of [mergePatch, strategicMergePatch]) {
      const merged = apply({ a: 1 }, patch);
      expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
      expect({}).not.toHaveProperty('polluted');
    }
  });
});

describe('a strategic merge patch', () => {
  const containersOf = (patch: unknown): unknown => {
    const { spec } = strategicMergePatch(POD, { spec: patch }) as unknown as typeof POD;
    return spec.containers;
  };

  it.each<[string, unknown, unknown]>([
    ['changes an item', { containers: [{ name: 'a', image: 'a:2' }] }, [{ ...A, image: 'a:2' }, B]],
    [
      'adds one',
      { containers: [{ name: 'c', image: 'c:1', env: null }] },
      [A, B, { name: 'c', image: 'c:1' }],
    ],
    ['takes one away', { containers: [{ $patch: 'delete', name: 'a' }] }, [B]],
    ['replaces all', { containers: [{ $patch: 'replace' }, { name: 'c' }] }, [{ name: 'c' }]],
    [
      'replaces one',
      { containers: [{ $patch: 'replace', name: 'a', image: 'c' }] },
      [{ name: 'a', image: 'c' }],
    ],
    ['orders them', { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] }, [B, A]],
    [
      'goes deeper',
      { containers: [{ name: 'a', command: ['it'], env: [{ name: 'Y', value: '2' }] }] },
      [{ ...A, command: ['it'], env: [...A!.env!, { name: 'Y', value: '2' }] }, B],
    ],
  ])('%s', (_what, patch, containers) => {
    expect(containersOf(patch)).toEqual(containers);
  });

  it('merges the ports of a Service by their own key', () => {
    const ports = [{ port: 80, targetPort: 8080 }, { port: 443 }];
    const patch = {
      ports: [{ port: 80, targetPort: 9090 }],
      '$setElementOrder/ports': [{ port: 443 }, { port: 80 }],
    };
    expect(strategicMergePatch({ ports }, patch)).toEqual({
      ports: [{ port: 443 }, { port: 80, targetPort: 9090 }],
    });
  });

  it('keeps of an object what it says alone, and of a list of words all but what it says', () => {
    const volumes = [{ name: 'data', emptyDir: {}, $retainKeys: ['name', 'emptyDir'] }];
    expect(strategicMergePatch(POD.spec, { volumes })['volumes']).toEqual([{ name: 'data', emptyDir: {} }]);
    const patch = { '$deleteFromPrimitiveList/finalizers': ['a'] };
    expect(strategicMergePatch({ finalizers: ['a', 'b'] }, patch)).toEqual({ finalizers: ['b'] });
    expect(strategicMergePatch(POD, { metadata: { $patch: 'replace', name: 'x' } })['metadata']).toEqual({
      name: 'x',
    });
  });

  it.each<[Record<string, unknown>, string]>([
    [{ $patch: 'swap' }, 'unknown patch directive $patch: "swap"'],
    [{ $other: [] }, 'unknown patch directive $other: []'],
    [{ $retainKeys: 'name' }, 'unknown patch directive $retainKeys: "name"'],
    [{ volumes: [{ emptyDir: {} }] }, 'map: "name" is missing in an item of a list'],
    [{ volumes: ['data'] }, 'an item of a list that is merged by name must be an object'],
  ])('%j is refused', (patch, words) => {
    expect(() => strategicMergePatch({}, patch)).toThrow(words);
  });
});
