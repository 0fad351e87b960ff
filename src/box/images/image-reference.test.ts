import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseReference, toReferenceText, tryParseReference } from './image-reference.js';

const HEX = '0123456789abcdef'.repeat(4);
const normalize = (text: string) => toReferenceText(parseReference(text));

describe('a reference', () => {
  it.each([
    ['nginx', 'docker.io/library/nginx:latest'],
    ['nginx:1.27', 'docker.io/library/nginx:1.27'],
    ['me/nginx', 'docker.io/me/nginx:latest'],
    ['docker.io/nginx', 'docker.io/library/nginx:latest'],
    ['index.docker.io/nginx:1', 'docker.io/library/nginx:1'],
    ['docker.io/library/nginx:latest', 'docker.io/library/nginx:latest'],
    ['registry.k8s.io/pause:3.10', 'registry.k8s.io/pause:3.10'],
    ['localhost/a', 'localhost/a:latest'],
    ['localhost:5000/a/b:1', 'localhost:5000/a/b:1'],
    ['[::1]:5000/a', '[::1]:5000/a:latest'],
    ['Registry/a', 'Registry/a:latest'],
    ['podloop.local/host', 'podloop.local/host:latest'],
    [`nginx@sha256:${HEX}`, `docker.io/library/nginx@sha256:${HEX}`],
    [`nginx:1.27@sha256:${HEX}`, `docker.io/library/nginx@sha256:${HEX}`],
    [`a.b/c@sha512:${HEX}${HEX}`, `a.b/c@sha512:${HEX}${HEX}`],
    ['a/b__c/d--e/f.g', 'docker.io/a/b__c/d--e/f.g:latest'],
    [`sha256:${HEX}`, `docker.io/library/sha256:${HEX}`],
  ])('%s is %s', (text, normalised) => {
    expect(normalize(text)).toBe(normalised);
  });

  it.each([
    ['', 'nothing'],
    ['UPPER', 'a capital letter in the repository'],
    ['a.b/UPPER', 'a capital letter behind a registry'],
    ['a//b', 'an empty part'],
    ['a/', 'no name behind the slash'],
    ['/a', 'no name before the slash'],
    [':1', 'a tag of nothing'],
    ['a:', 'an empty tag'],
    ['a:b:c', 'two tags'],
    ['a:.b', 'a tag that begins with a dot'],
    [`a:${'t'.repeat(129)}`, 'a tag that is too long'],
    ['a b', 'a space'],
    ['a\n', 'a line break'],
    ['../a', 'a path that climbs'],
    ['a/../b', 'a path that climbs within'],
    ['-a', 'a dash at the beginning'],
    ['a-', 'a dash at the end'],
    ['a..b', 'two dots'],
    ['a___b', 'three underscores'],
    ['exa_mple.com/a', 'a registry with an underscore'],
    ['a.b:port/c', 'a port that is no number'],
    ['a@sha256:abc', 'a digest that is too short'],
    [`a@sha256:${HEX.toUpperCase()}`, 'a digest in capitals'],
    [`a@md5:${HEX}`, 'a digest of an unknown kind'],
    [`a@sha256:${HEX}@sha256:${HEX}`, 'two digests'],
    [`@sha256:${HEX}`, 'a digest of nothing'],
    [HEX, 'an id instead of a name'],
    [`a/${'b'.repeat(256)}`, 'a repository that is too long'],
    ['a'.repeat(100_000), 'a text that is absurdly long'],
  ])('"%s" is refused: %s', (text) => {
    expect(tryParseReference(text)).toBeUndefined();
    expect(() => parseReference(text)).toThrow(
      expect.objectContaining({ code: status.INVALID_ARGUMENT }) as Error,
    );
  });

  it('that is normalised stays as it is', () => {
    fc.assert(
      fc.property(aReference, (text) => {
        const once = normalize(text);
        expect(normalize(once)).toBe(once);
      }),
    );
  });

  it('has a registry, and a tag or a digest', () => {
    fc.assert(
      fc.property(aReference, (text) => {
        const { name, tag, digest } = parseReference(text);
        expect(name).toMatch(/^[^/]+\/./);
        expect([tag, digest].filter((each) => each !== undefined)).toHaveLength(1);
      }),
    );
  });

  it('never comes out of noise with a character that has no place in a path', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const parsed = tryParseReference(text);
        if (parsed !== undefined) expect(toReferenceText(parsed)).toMatch(/^[\w.:/@[\]-]+$/);
      }),
    );
  });
});

const aPart = fc.stringMatching(/^[a-z0-9]+(([._]|__|-{1,3})[a-z0-9]+){0,2}$/, { size: 'small' });
const aHost = fc.constantFrom(
  '',
  'docker.io/',
  'index.docker.io/',
  'example.test/',
  'localhost/',
  '10.0.0.1:5000/',
);
const anEnd = fc.oneof(
  fc.constant(''),
  fc.stringMatching(/^:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,20}$/),
  fc.constant(`@sha256:${HEX}`),
  fc.constant(`:tag@sha256:${HEX}`),
);
const aReference = fc
  .tuple(aHost, fc.array(aPart, { minLength: 1, maxLength: 3 }), anEnd)
  // With a dot the first part would be a registry.
  .map(
    ([host, [first = '', ...parts], end]) =>
      `${host}${[first.replaceAll('.', '-'), ...parts].join('/')}${end}`,
  );
